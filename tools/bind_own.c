/* Binds each reference of a shared library to a function of its own to that function, as the linker does with
   -Wl,-Bsymbolic-functions: what is loaded before the library no longer takes its place there.
   The reference is a relocation that names a symbol; it becomes one that names a place in the library.

   usage: bind_own LIBRARY RESULT */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned char *image;
static size_t size;

static void die(const char *what)
{
	fprintf(stderr, "bind_own: %s\n", what);
	exit(1);
}

static void *at(size_t offset, size_t length)
{
	if (offset > size || length > size - offset)
		die("the file ends too early");
	return image + offset;
}

static void load(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || fstat(fd, &st))
		die("the library cannot be read");
	size = st.st_size;
	image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		die("the library cannot be mapped");
	close(fd);
}

/* The types of relocations that name a symbol by its address alone, and the one that names a place. */
struct machine {
	int e_machine;
	unsigned int named[3], relative;
};

static const struct machine machines[] = {
	{ EM_X86_64, { R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_64 }, R_X86_64_RELATIVE },
	{ EM_AARCH64, { R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, R_AARCH64_ABS64 }, R_AARCH64_RELATIVE },
};

static const struct machine *machine_of(const Elf64_Ehdr *head)
{
	size_t i;

	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].e_machine == head->e_machine)
			return &machines[i];
	die("neither x86-64 nor aarch64");
	return NULL;
}

static int is_named(const struct machine *machine, unsigned int type)
{
	return type == machine->named[0] || type == machine->named[1] || type == machine->named[2];
}

/* The relocations of one section; its link is the symbol table. */
static int bind(const struct machine *machine, const Elf64_Shdr *section, const Elf64_Shdr *symbols)
{
	Elf64_Rela *rela = at(section->sh_offset, section->sh_size);
	size_t count = section->sh_size / sizeof(*rela), known = symbols->sh_size / sizeof(Elf64_Sym), i;
	const Elf64_Sym *table = at(symbols->sh_offset, symbols->sh_size);
	int bound = 0;

	for (i = 0; i < count; i++) {
		size_t index = ELF64_R_SYM(rela[i].r_info);

		if (!is_named(machine, ELF64_R_TYPE(rela[i].r_info)) || index >= known)
			continue;
		if (table[index].st_shndx == SHN_UNDEF || ELF64_ST_TYPE(table[index].st_info) != STT_FUNC)
			continue;
		rela[i].r_info = ELF64_R_INFO(0, machine->relative);
		rela[i].r_addend += table[index].st_value;
		bound++;
	}
	return bound;
}

static void store(const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(image, 1, size, file) != size || fclose(file))
		die("the result cannot be written");
}

int main(int argc, char **argv)
{
	const Elf64_Ehdr *head;
	const Elf64_Shdr *sections;
	int i, bound = 0;

	if (argc != 3)
		die("usage: bind_own LIBRARY RESULT");
	load(argv[1]);
	head = at(0, sizeof(*head));
	if (memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_type != ET_DYN)
		die("no 64-bit shared library");
	sections = at(head->e_shoff, (size_t)head->e_shnum * sizeof(*sections));
	for (i = 0; i < head->e_shnum; i++)
		if (sections[i].sh_type == SHT_RELA && sections[i].sh_link < head->e_shnum)
			bound += bind(machine_of(head), &sections[i], &sections[sections[i].sh_link]);
	store(argv[2]);
	printf("%d references to functions of its own are bound\n", bound); /* none: it was built so */
	return 0;
}
