/**
 * Writes the bill of materials (CycloneDX) of a built program into its folder: those of the installed packages that are in the bundle and
 * in the console (`public` beside it), and the runtime. `npm sbom --omit dev` does not suffice: it omits packages that a tool needs, too.
 *
 * Run after npm run build: node scripts/write-sbom.ts [dist]
 */
import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const billOfMaterials = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string(), name: z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});

const [folder = 'dist'] = process.argv.slice(2);
const installed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { encoding: 'utf8', maxBuffer: 1 << 26 });
const { metadata, components, dependencies, ...rest } = billOfMaterials.parse(JSON.parse(installed));

const notices = await Promise.all(
  ['LICENSES.txt', 'public/licences.txt'].map((name) => readFile(join(folder, name), 'utf8').catch(() => '')),
);
const bundled = new Set(notices.join('\n').match(/(?<=^== )\S+/gm));
const shipped = components.filter((component) => bundled.has(component['bom-ref']) || component.name.startsWith('node-linux-'));
const refs = new Set([metadata.component['bom-ref'], ...shipped.map((component) => component['bom-ref'])]);
const between = dependencies
  .filter(({ ref }) => refs.has(ref))
  .map((dependency) => ({ ...dependency, dependsOn: dependency.dependsOn.filter((ref) => refs.has(ref)) }));
const bill = { ...rest, metadata, components: shipped, dependencies: between };
await writeFile(join(folder, 'sbom.cdx.json'), `${JSON.stringify(bill, null, 2)}\n`);
