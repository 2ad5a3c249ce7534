// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
// Owns how a profile that was packed (packed.c: gzip as base64) becomes text again. Not by the browser's DecompressionStream: that answers
// later, and what is drawn needs all of it at once; and a page should open where there is none.

const unpack = (() => {
	const LENGTHS = [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
	const LENGTH_BITS = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];
	const DISTANCES = [1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577];
	const DISTANCE_BITS = [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];
	const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
	const HEAD = 10;	// bytes before what is deflated: zlib writes no names there
	const SMALLEST = 1032, CODE_MAX = 15;	// bits of the longest code

	// By the next bits: symbol << 4 | length of its code.
	function codesOf(lengths) {
		const max = Math.max(1, ...lengths), table = new Uint16Array(1 << max), many = new Array(CODE_MAX + 1).fill(0), next = [0];

		for (const length of lengths)
			many[length]++;
		many[0] = 0;
		for (let i = 1; i <= CODE_MAX; i++)
			next[i] = (next[i - 1] + many[i - 1]) << 1;
		lengths.forEach((length, symbol) => {
			let turned = 0;

			if (!length)
				return;
			for (let code = next[length]++, i = 0; i < length; i++, code >>= 1)
				turned = turned << 1 | code & 1;
			for (let i = turned; i < table.length; i += 1 << length)
				table[i] = symbol << 4 | length;
		});
		return {table, max, mask: table.length - 1};
	}

	const fixed = () => [codesOf(Array.from({length: 288}, (_, i) => i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)), codesOf(new Array(30).fill(5))];

	function inflate(from, to) {
		let at = HEAD, n = 0, hold = 0, bits = 0, last = 0;

		function take(k) {
			for (; bits < k; bits += 8)
				hold |= from[at++] << bits;
			const v = hold & (1 << k) - 1;

			hold >>>= k;
			bits -= k;
			return v;
		}

		function symbol(codes) {
			for (; bits < codes.max; bits += 8)
				hold |= from[at++] << bits;
			const found = codes.table[hold & codes.mask], length = found & 15;

			hold >>>= length;
			bits -= length;
			return found >> 4;
		}

		function dynamic() {
			const n_literals = take(5) + 257, n_distances = take(5) + 1, n_codes = take(4) + 4, codes = new Array(19).fill(0), lengths = [];

			for (let i = 0; i < n_codes; i++)
				codes[ORDER[i]] = take(3);
			const table = codesOf(codes);

			while (lengths.length < n_literals + n_distances && at <= from.length) {
				const code = symbol(table), [value, times] = code < 16 ? [code, 1] : code === 16 ? [lengths[lengths.length - 1], take(2) + 3] : code === 17 ? [0, take(3) + 3] : [0, take(7) + 11];

				for (let i = 0; i < times; i++)
					lengths.push(value);
			}
			return [codesOf(lengths.slice(0, n_literals)), codesOf(lengths.slice(n_literals))];
		}

		function stored() {
			hold = bits = 0;
			const length = from[at] | from[at + 1] << 8;

			to.set(from.subarray(at + 4, at + 4 + length), n);
			at += 4 + length;
			n += length;
		}

		function block([literals, distances]) {
			for (let code = symbol(literals); code !== 256; code = symbol(literals)) {
				// beyond its end there are zeros without one
				if (n > to.length || at > from.length + 4)
					throw new Error("the profile in this page is not whole");
				if (code < 256) {
					to[n++] = code;
					continue;
				}
				const length = LENGTHS[code - 257] + take(LENGTH_BITS[code - 257]), d = symbol(distances), back = DISTANCES[d] + take(DISTANCE_BITS[d]);

				// it may reach into what it makes
				for (const end = n + length; n < end; n++)
					to[n] = to[n - back];
			}
		}

		while (!last) {
			last = take(1);
			const kind = take(2);

			if (kind === 0) {
				// what was read ahead is given back
				at -= bits >> 3;
				stored();
			} else {
				block(kind === 1 ? fixed() : dynamic());
			}
			if (at > from.length)
				throw new Error("the profile in this page is not whole");
		}
		return n;
	}

	return (text) => {
		const bytesOf = atob(text.replace(/\s/g, "")), packed = new Uint8Array(bytesOf.length);

		for (let i = 0; i < packed.length; i++)
			packed[i] = bytesOf.charCodeAt(i);
		const size = new DataView(packed.buffer).getUint32(Math.max(0, packed.length - 4), true);
		// nothing becomes more than so many times smaller
		const out = new Uint8Array(size <= packed.length * SMALLEST ? size : 0);

		if (inflate(packed, out) !== size)
			throw new Error("the profile in this page is not whole");
		return new TextDecoder().decode(out);
	};
})();
