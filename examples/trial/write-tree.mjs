// Writes the starting tree of a task in this folder.
const { writeTree } = await import(`./${process.argv[2]}/world.mjs`);
writeTree();
