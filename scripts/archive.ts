import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';

const run = promisify(execFile);
const options = [
  '--create',
  '--sort=name',
  '--mtime=@0',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--mode=u+rw,go+r,go-w',
  '--dereference',
];

/** Returns an archive whose bytes depend on its files alone. Files take the place of symbolic links to them. */
export async function archiveOf(directory: string, ...names: readonly string[]): Promise<Buffer> {
  const { stdout } = await run('tar', [...options, '--directory', directory, ...names], { encoding: 'buffer', maxBuffer: 1 << 26 });
  return gzipSync(stdout, { level: 9 });
}
