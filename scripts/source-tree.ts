import { globSync } from 'node:fs';
import { dirname } from 'node:path';

/** Returns docs/architecture.md with the folders of `src` and `packages` as they are. */
export function withSourceTree(page: string): string {
  return page.replace(/(?<=^## Tree\n.*?^```text\n).*?(?=^```$)/ms, tree);
}

/** Returns a line for each room and package, with the folders inside it. */
function tree(): string {
  const folders = [...new Set(globSync('{src,packages/*/src}/**/*.{ts,js,json}').map(dirname))].sort();
  const rooms = folders.filter((folder) => /^(?:src\/[^/]+|packages\/[^/]+\/src)$/.test(folder));
  const inside = (room: string) => [
    ...new Set(folders.flatMap((folder) => (folder.startsWith(`${room}/`) ? [folder.slice(room.length + 1).split('/')[0]] : []))),
  ];
  return rooms.map((room) => `${[room.padEnd(30), ...inside(room).map((name) => `${name}/`)].join(' ').trimEnd()}\n`).join('');
}
