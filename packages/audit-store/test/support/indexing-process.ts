/** Opens a store whose segments are missing, and reports when it has made some. A test kills the process then. */
import { SqliteStore } from '../../src/sqlite-store.ts';

const [file = '', segmentSize = ''] = process.argv.slice(2);
const store = await SqliteStore.open(file, Number(segmentSize));
const { left: begin } = await store.indexing();
for (let left = begin; left === begin && left > 0; ) ({ left } = await store.indexing());
console.log('indexing');
