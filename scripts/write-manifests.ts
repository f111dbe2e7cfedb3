/**
 * Writes deploy/manifests from the chart, by Helm of the pinned version.
 *
 * Run after a change of the chart: npm run manifests
 */
import './help.ts';
import { writeFile } from 'node:fs/promises';
import { helmProgram } from '../test/cluster/build.ts';
import { kindsFile, kindsPath } from './chart/kinds.ts';
import { manifestFiles, manifestsDirectory } from './chart/manifests.ts';
import { rightsFile, rightsPath } from './chart/rights.ts';

// Helm of the pinned version, so that the files do not depend on the machine.
const files = await manifestFiles(await helmProgram());
await writeFile(rightsPath, rightsFile(files));
await writeFile(kindsPath, await kindsFile());
for (const [path, text] of files) {
  await writeFile(new URL(path, manifestsDirectory), text);
}
