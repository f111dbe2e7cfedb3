/**
 * Ends the program, with one line, where Node.js is too old to read the rest of it. Imported before anything else, and written in
 * words that Node.js 12 knows: no `import`, nothing from a module.
 */
const least = [24, 11];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < least[0] || (major === least[0] && minor < least[1])) {
  console.error(`Node.js ${least.join('.')} or later is needed; this is ${process.versions.node} (${process.execPath})`);
  process.exit(1);
}
