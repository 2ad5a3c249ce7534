// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Names of cgroups and files of container engines are anybody's: whatever they say, a name that is told is clean and bounded, and an
 * id has the letters of one. The first byte is which of them the text is.
 */
#include "process/containers.h"
#include "util/util.h"
#include "fuzz.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "0a1b2c3d-4e5f-6789-abcd-ef0123456789"

static void must_be_clean(const char *s)
{
	if (!*s || strlen(s) > 255)
		abort();
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			abort();
}

static void look(const struct engine_named *n, void *arg)
{
	must_be_clean(n->name);
	if (n->ns)
		must_be_clean(n->ns);
}

static void recognise(char *path)
{
	struct cgroup_place p;

	clean_name(path);
	cgroup__recognise(path, &p);
	if (!p.container != !p.engine || (p.is_container && !p.container) || (p.is_pod && !p.pod))
		abort();
	if (p.pod && p.pod[strspn(p.pod, CONTAINER_HEX "-")])
		abort();
	for (const char *s = p.container; s && *s; s++)
		if ((unsigned char)*s < ' ' || *s == '/' || *s == 0x7f)
			abort();
	cgroup_place__done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = len ? strndup((const char *)data + 1, len - 1) : NULL;
	struct engine_named n;

	if (!text)
		return 0;
	switch (data[0] % 5) {
	case 0:
		recognise(text);
		break;
	case 1:
		docker_config__parse(text, ID, 0, look, NULL);
		break;
	case 2:
		storage_list__parse(text, 0, look, NULL);
		break;
	case 3:
		if (pod_log__parse(text, &n))
			look(&n, NULL);
		break;
	case 4:
		if (container_log__parse(text, &n))
			look(&n, NULL);
		break;
	}
	free(text);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	put_text_seed("systemd", 0, "/kubepods.slice/kubepods-pod" UID ".slice/cri-containerd-" ID ".scope");
	put_text_seed("colons", 0, "/system.slice/containerd.service/kubepods-pod" UID ".slice:cri-containerd:" ID);
	put_text_seed("machine", 0, "/machine.slice/machine-web\\x2d1.scope/payload/init.scope");
	put_text_seed("docker", 1, "{\"ID\":\"" ID "\",\"Name\":\"/web\"}");
	put_text_seed("storage", 2, "[{\"id\":\"" ID "\",\"names\":[\"db\",\"a\\u001b\"]}]");
	put_text_seed("pod", 3, "shop_cart-0_" UID);
	put_text_seed("log", 4, "cart-0_shop_app-" ID ".log");
	return 0;
}
