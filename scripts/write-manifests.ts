import { writeFile } from 'node:fs/promises';
import { helmProgram } from '../test/cluster/build.ts';
import { manifestFiles, manifestsDirectory } from './chart/manifests.ts';

// Helm of the pinned version, so that the files do not depend on the machine.
for (const [path, text] of await manifestFiles(await helmProgram())) {
  await writeFile(new URL(path, manifestsDirectory), text);
}
