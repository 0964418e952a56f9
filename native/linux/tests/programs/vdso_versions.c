// The vDSO's functions and their version, found as Go's runtime finds them: it follows the definitions of versions without asking
// whether there are any.
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static const char *base;
static const char *strings;

static const void *entry(const Elf64_Dyn *dynamic, Elf64_Sxword tag) {
  for (; dynamic->d_tag != DT_NULL; dynamic++)
    if (dynamic->d_tag == tag) return base + dynamic->d_un.d_ptr;
  return NULL;
}

static int version_index(const Elf64_Verdef *definition) {
  for (;;) {
    const Elf64_Verdaux *name = (const void *)((const char *)definition + definition->vd_aux);
    if (!(definition->vd_flags & VER_FLG_BASE) && definition->vd_hash == 0x3ae75f6 &&
        !strcmp(strings + name->vda_name, "LINUX_2.6"))
      return definition->vd_ndx & 0x7fff;
    if (!definition->vd_next) return -1;
    definition = (const void *)((const char *)definition + definition->vd_next);
  }
}

int main(void) {
  base = (const char *)getauxval(AT_SYSINFO_EHDR);
  const Elf64_Ehdr *header = (const void *)base;
  const Elf64_Phdr *segments = (const void *)(base + header->e_phoff);
  const Elf64_Dyn *dynamic = NULL;
  for (int i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == PT_DYNAMIC) dynamic = (const void *)(base + segments[i].p_offset);
  strings = entry(dynamic, DT_STRTAB);
  const Elf64_Sym *symbols = entry(dynamic, DT_SYMTAB);
  const Elf64_Half *versions = entry(dynamic, DT_VERSYM);
  int index = version_index(entry(dynamic, DT_VERDEF));
  // Functions lie in no order: by name.
  static const char *const names[] = {"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time", "__vdso_getcpu"};
  for (int n = 0; n < 4; n++) {
    int found = 0;
    for (int i = 1; i < 64 && !found; i++)
      if (!strcmp(strings + symbols[i].st_name, names[n])) {
        printf("%s: version %s\n", names[n], (versions[i] & 0x7fff) == index ? "LINUX_2.6" : "another");
        found = 1;
      }
    if (!found) printf("%s is missing\n", names[n]);
  }
  return 0;
}
