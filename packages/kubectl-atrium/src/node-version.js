/**
 * Ends the program, with one line, where Node.js is too old to read the rest of it. Called before anything else is loaded, and written in
 * words that Node.js 12 knows: nothing from a module.
 */
export function requireNode(leastMajor, leastMinor) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  console.error(`Node.js ${leastMajor}.${leastMinor} or later is needed; this is ${process.versions.node} (${process.execPath})`);
  process.exit(1);
}
