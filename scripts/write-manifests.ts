import { mkdir, writeFile } from 'node:fs/promises';
import { helmProgram } from '../test/cluster/build.ts';
import { manifestFiles, manifestsDirectory } from './chart/manifests.ts';

// Helm of the pinned version, so that the files do not depend on the machine.
for (const [path, text] of await manifestFiles(await helmProgram())) {
  const file = new URL(path, manifestsDirectory);
  await mkdir(new URL('.', file), { recursive: true });
  await writeFile(file, text);
}
