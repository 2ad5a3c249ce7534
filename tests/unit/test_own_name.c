// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Demangled names taken apart: whose a function is, and what it is called. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "util/own_name.h"
#include "util/util.h"

#define LIBRARY true
#define OWN false

static const struct {
	const char *name;
	bool library;
	const char *shown;
} names[] = {
	/* C */
	{ "main", OWN, "main" },
	{ "", OWN, "" },
	{ "leaf_183", OWN, "leaf_183" },
	{ "parse.constprop.0.isra.1", OWN, "parse" },
	{ "parse.cold", OWN, "parse" },
	{ "std", OWN, "std" },
	{ "stdlib_init", OWN, "stdlib_init" },
	/* C++: scope and parameters */
	{ "app::load()", OWN, "app::load" },
	{ "void app::take(std::vector<int, std::allocator<int> >)", OWN, "app::take" },
	{ "app::take(std::vector<int, std::allocator<int> >)", OWN, "app::take" },
	{ "app::Cache<std::__cxx11::basic_string<char> >::put(int)", OWN, "app::Cache<std::__cxx11::basic_string<char> >::put" },
	{ "std::vector<int, std::allocator<int> > make<int>()", OWN, "make<int>" },
	{ "std::vector<int> const& app::all<int>(std::string const&)", OWN, "app::all<int>" },
	{ "unsigned long app::hash<int>(int)", OWN, "app::hash<int>" },
	{ "std::enable_if<((sizeof (int))<(8ul)), int>::type app::pick<int>(int)", OWN, "app::pick<int>" },
	{ "decltype (std::begin({parm#1})) app::first<int [3]>(int (&) [3])", OWN, "app::first<int [3]>" },
	{ "decltype(auto) app::visit<int>(int)", OWN, "app::visit<int>" },
	{ "auto app::sum<int>(int)", OWN, "app::sum<int>" },
	{ "(anonymous namespace)::load(int)", OWN, "(anonymous namespace)::load" },
	{ "void (anonymous namespace)::load<int>(int)", OWN, "(anonymous namespace)::load<int>" },
	{ "std::string (anonymous namespace)::name<int>(int)", OWN, "(anonymous namespace)::name<int>" },
	{ "app::Table::add(app::Row const&) const", OWN, "app::Table::add" },
	{ "app::Table::add(app::Row&&) &&", OWN, "app::Table::add" },
	{ "app::name[abi:cxx11](int)", OWN, "app::name" },
	{ "app::name[abi:cxx11]() const", OWN, "app::name" },
	{ "app::load(int) [clone .isra.0]", OWN, "app::load" },
	{ "app::load(int) [clone .part.0] [clone .cold]", OWN, "app::load" },
	{ "app::load(int) (.llvm.1234)", OWN, "app::load" },
	{ "non-virtual thunk to app::Row::copy()", OWN, "app::Row::copy" },
	{ "virtual thunk to std::basic_ostream<char>::~basic_ostream()", LIBRARY, "std::basic_ostream<char>::~basic_ostream" },
	{ "app::Row::~Row()", OWN, "app::Row::~Row" },
	{ "stdx::thing()", OWN, "stdx::thing" },
	{ "core::Engine::load(int)", OWN, "core::Engine::load" },
	{ "alloc::Pool::grow(unsigned long)", OWN, "alloc::Pool::grow" },
	/* operators */
	{ "operator new(unsigned long)", OWN, "operator new" },
	{ "operator new[](unsigned long, std::nothrow_t const&)", OWN, "operator new[]" },
	{ "app::Row::operator new(unsigned long)", OWN, "app::Row::operator new" },
	{ "app::Row::operator()(std::string) const", OWN, "app::Row::operator()" },
	{ "app::Row::operator<(app::Row const&) const", OWN, "app::Row::operator<" },
	{ "bool app::operator< <int>(app::A<int> const&)", OWN, "app::operator< <int>" },
	{ "std::ostream& app::operator<< <int>(std::ostream&, app::A<int> const&)", OWN, "app::operator<< <int>" },
	{ "std::ostream& operator<<(std::ostream&, app::Row const&)", OWN, "operator<<" },
	{ "app::Ptr::operator->() const", OWN, "app::Ptr::operator->" },
	{ "app::Ptr<int>::operator->*(int) const", OWN, "app::Ptr<int>::operator->*" },
	{ "app::Row::operator[](unsigned long)", OWN, "app::Row::operator[]" },
	{ "app::Row::operator bool() const", OWN, "app::Row::operator bool" },
	{ "app::Row::operator std::vector<int>() const", OWN, "app::Row::operator std::vector<int>" },
	{ "app::Row::operator std::string const&() const", OWN, "app::Row::operator std::string const&" },
	{ "app::operator\"\" _kb(unsigned long long)", OWN, "app::operator\"\" _kb" },
	{ "app::operator<=>(app::A const&, app::A const&)", OWN, "app::operator<=>" },
	{ "std::vector<int> std::operator+ <int>(std::vector<int>)", LIBRARY, "std::operator+ <int>" },
	{ "app::operators::apply(int)", OWN, "app::operators::apply" },
	/* lambdas, functions of functions */
	{ "app::run()::{lambda()#1}::operator()() const", OWN, "app::run::{lambda#1}" },
	{ "app::run(std::string) const::{lambda(std::vector<int>)#2}::operator()(std::vector<int>) const", OWN, "app::run::{lambda#2}" },
	{ "auto app::run(int)::{lambda(auto:1)#1}::operator()<int>(int) const", OWN, "app::run::{lambda#1}::operator()<int>" },
	{ "app::run(int)::Local::step(std::string)", OWN, "app::run::Local::step" },
	{ "{lambda()#1}::operator()() const", OWN, "{lambda#1}" },
	/* libstdc++ */
	{ "std::vector<app::Row, std::allocator<app::Row> >::reserve(unsigned long)", LIBRARY, NULL },
	{ "void std::vector<app::Row>::_M_realloc_insert<app::Row const&>(__gnu_cxx::__normal_iterator<app::Row*>, app::Row const&)", LIBRARY, NULL },
	{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&, unsigned long)", LIBRARY, NULL },
	{ "__gnu_cxx::new_allocator<app::Row>::allocate(unsigned long, void const*)", LIBRARY, NULL },
	{ "std::allocator_traits<std::allocator<int> >::allocate(std::allocator<int>&, unsigned long)", LIBRARY, NULL },
	{ "std::_Rb_tree<int, std::pair<int const, app::Row> >::_M_insert_(int)", LIBRARY, NULL },
	{ "std::shared_ptr<app::Row> std::make_shared<app::Row>()", LIBRARY, "std::make_shared<app::Row>" },
	{ "std::_MakeUniq<app::Row>::__single_object std::make_unique<app::Row>()", LIBRARY, "std::make_unique<app::Row>" },
	{ "void std::__invoke_impl<void, app::run()::{lambda()#1}>(std::__invoke_other, app::run()::{lambda()#1}&&)", LIBRARY, NULL },
	{ "std::_Function_handler<void (int), app::Handler>::_M_invoke(std::_Any_data const&, int&&)", LIBRARY, NULL },
	{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<void (*)()> > >::_M_run()", LIBRARY, NULL },
	{ "std::basic_ostringstream<char>::basic_ostringstream()", LIBRARY, NULL },
	{ "std::locale::classic()", LIBRARY, NULL },
	{ "std::string std::vformat(std::string_view, std::format_args)", LIBRARY, NULL },
	/* libc++, boost, fmt, abseil */
	{ "std::__1::basic_string<char>::__grow_by(unsigned long)", LIBRARY, NULL },
	{ "void std::__1::vector<app::Row>::__push_back_slow_path<app::Row>(app::Row&&)", LIBRARY, NULL },
	{ "boost::container::vector<int>::priv_insert(int)", LIBRARY, NULL },
	{ "boost::shared_ptr<app::Row>::shared_ptr<app::Row>(app::Row*)", LIBRARY, NULL },
	{ "boost::json::parse(std::string_view)", OWN, "boost::json::parse" },
	{ "fmt::v9::detail::buffer<char>::grow(unsigned long)", LIBRARY, NULL },
	{ "absl::lts_20230125::container_internal::raw_hash_set<int>::resize(unsigned long)", LIBRARY, NULL },
	/* Rust, the old mangling and the new one */
	{ "app::load", OWN, "app::load" },
	{ "app::load::h0123456789abcdef", OWN, "app::load" },
	{ "app::load::h0123456789abcdeg", OWN, "app::load::h0123456789abcdeg" },
	{ "app::main::{{closure}}", OWN, "app::main::{{closure}}" },
	{ "app::main::{closure#0}", OWN, "app::main::{closure#0}" },
	{ "alloc::vec::Vec<T,A>::push", LIBRARY, NULL },
	{ "alloc::raw_vec::finish_grow::<alloc::alloc::Global>", LIBRARY, NULL },
	{ "alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle::h0123456789abcdef", LIBRARY, NULL },
	{ "alloc::fmt::format::format_inner", LIBRARY, NULL },
	{ "alloc::slice::<impl [T]>::to_vec", LIBRARY, NULL },
	{ "core::ops::function::FnOnce::call_once{{vtable.shim}}", LIBRARY, NULL },
	{ "std::thread::Builder::spawn_unchecked_", LIBRARY, NULL },
	{ "hashbrown::raw::RawTable<T,A>::reserve_rehash", LIBRARY, NULL },
	{ "__rustc::__rust_alloc", LIBRARY, NULL },
	{ "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone", LIBRARY, NULL },
	{ "<alloc::vec::Vec<app::Row>>::push", LIBRARY, "alloc::vec::Vec<app::Row>::push" },
	{ "<alloc::vec::Vec<app::Row> as core::clone::Clone>::clone", LIBRARY, NULL },
	{ "<T as alloc::slice::hack::ConvertVec>::to_vec", LIBRARY, NULL },
	{ "<str as alloc::string::ToString>::to_string", LIBRARY, NULL },
	{ "<&mut app::Row as core::iter::Iterator>::next", LIBRARY, NULL },
	{ "<[app::Row]>::to_vec", LIBRARY, "<[app::Row]>::to_vec" },
	{ "<alloc::boxed::Box<dyn core::ops::function::FnOnce<()>> as core::ops::function::FnOnce<()>>::call_once", LIBRARY, NULL },
	{ "std::string std::operator+<char, std::char_traits<char> >(char const*)", LIBRARY, "std::operator+<char, std::char_traits<char> >" },
	{ "bool app::operator< <int>(app::Row<int> const&)", OWN, "app::operator< <int>" },
	{ "<app::Row as core::clone::Clone>::clone", OWN, "app::Row::clone" },
	{ "<app::Row<alloc::string::String> as core::default::Default>::default", OWN, NULL },
	{ "<alloc::vec::Vec<u8> as app::Encode>::encode", OWN, NULL },
	{ "<u8 as app::Encode>::encode", OWN, NULL },
	{ "<app::Row>::new", OWN, "app::Row::new" },
	{ "<app::run::{closure#0} as core::ops::function::FnOnce<()>>::call_once", OWN, NULL },
	{ "corex::load", OWN, "corex::load" },
	/* Go */
	{ "main.(*Server).handle", OWN, "main.(*Server).handle" },
	{ "encoding/json.Marshal", OWN, "encoding/json.Marshal" },
	{ "main.load[go.shape.int]", OWN, "main.load[go.shape.int]" },
	{ "runtime.mallocgc", LIBRARY, NULL },
	/* and what is none of them */
	{ "-[Cache put:at:]", OWN, "-[Cache put:at:]" },
	{ "std::vector<app::Row, std::alloc…", LIBRARY, "std::vector<app::Row, std::alloc…" },
	{ "app::f(std::vector<int", OWN, "app::f(std::vector<int" },
	{ "evil?[31m", OWN, "evil?[31m" },
	{ "<", OWN, "<" },
	{ ">", OWN, ">" },
	{ ")(", OWN, ")(" },
	{ "(", OWN, "(" },
	{ "((((", OWN, "((((" },
	{ "a>b>c", OWN, "a>b>c" },
	{ " ", OWN, " " },
	{ "int ", OWN, "int " },
	{ "operator", OWN, "operator" },
	{ "operator<", OWN, "operator<" },
	{ "<>::", LIBRARY, NULL },
	{ "< as >::f", OWN, NULL },
	{ "{lambda(", OWN, "{lambda(" },
	{ "{lambda()}", OWN, "{lambda}" },
	{ "f()[abi:", OWN, NULL },
};

Test(own_name, table)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct own_name own = own_name__of(names[i].name);
		char *shown = own_name__shown(names[i].name);

		cr_expect_eq(own_name__is_library(&own), names[i].library, "%s: %.*s", names[i].name, (int)own.len, own.s);
		cr_assert_not_null(shown);
		if (names[i].shown)
			cr_expect_str_eq(shown, names[i].shown, "%s is shown as %s", names[i].name, shown);
		cr_expect(!*names[i].name || own.len, "%s", names[i].name);
		free(shown);
	}
}

/* Names that go on and on, and every beginning of a name: nothing is read behind its end. */
Test(own_name, hostile, .timeout = 20)
{
	static const char *const parts[] = { "(", "<", "[", "{", "<(", "operator", "operator<", "a<b>::", "f()::", "f()[abi:", "{lambda(", " as ", "(a)<(", "::h0", "->" };

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		for (size_t n = 1; n < 4000; n = n * 3 + 1) {
			char *name = calloc(n, strlen(parts[i]) + 1), *to = name;

			for (size_t k = 0; k < n; k++)
				to = stpcpy(to, parts[i]);
			free(own_name__shown(name));
			free(name);
		}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (size_t n = 0; n <= strlen(names[i].name); n++) {
			char *name = strndup(names[i].name, n), *shown = own_name__shown(name);
			struct own_name own = own_name__of(name);

			cr_assert_leq(strlen(shown), n);
			cr_assert(own.s >= name && own.s + own.len <= name + n, "%s", name);
			own_name__is_library(&own);
			free(shown);
			free(name);
		}
}

Test(own_name, lambdas_among_arguments)
{
	static const struct {
		const char *name, *lambda;
	} v[] = {
		{ "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::{lambda()#2}> > >::_M_run()", "main::{lambda()#2}" },
		{ "std::_Function_handler<void (int, char), app::run(int, char) const::{lambda(int)#1}>::_M_invoke(std::_Any_data const&)",
		  "app::run(int, char) const::{lambda(int)#1}" },
		{ "void std::__invoke_impl<void, app::Cache<int>::fill()::{lambda()#1}&>(std::__invoke_other)", "app::Cache<int>::fill()::{lambda()#1}" },
		{ "{lambda()#1}", "{lambda()#1}" },
		{ "std::vector<int>::push_back(int const&)", NULL },
		{ "{lambda(", NULL },
		{ ")))>>{lambda()#1}", ")))>>{lambda()#1}" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct own_name o = own_name__lambda(v[i].name);

		cr_expect(v[i].lambda ? o.s && o.len == strlen(v[i].lambda) && !memcmp(o.s, v[i].lambda, o.len) : !o.s, "%s: %.*s", v[i].name, (int)o.len,
			  o.s ? o.s : "");
	}
}
