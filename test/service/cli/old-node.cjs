/** Preloaded: the program is told that it runs on an older Node.js. */
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: process.env.OLD_NODE } });
