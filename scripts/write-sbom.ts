/**
 * Writes the bill of materials (CycloneDX) of a built program into its folder: those of the installed packages that are in the bundle and
 * in the console (`public` beside it), packages of this repository, and the runtime. `npm sbom --omit dev` does not suffice: it omits
 * packages that a tool needs, too. The bill has no time and no random number, so that the same program has the same bill.
 *
 * Run after npm run build: node scripts/write-sbom.ts [dist]
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const billOfMaterials = z.looseObject({
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string(), name: z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string(), name: z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
const manifest = z.object({ name: z.string(), dependencies: z.record(z.string(), z.string()) });

const [folder = 'dist'] = process.argv.slice(2);
const installed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], { encoding: 'utf8', maxBuffer: 1 << 26 });
const { metadata, components, dependencies, ...rest } = billOfMaterials.parse(JSON.parse(installed));
const { name, dependencies: needed } = manifest.parse(JSON.parse(await readFile('package.json', 'utf8')));

const notices = await Promise.all(
  ['LICENSES.txt', 'public/licences.txt'].map((file) => readFile(join(folder, file), 'utf8').catch(() => '')),
);
const bundled = new Set(notices.join('\n').match(/(?<=^== )\S+/gm));
const own = new Set(
  Object.entries(needed).flatMap(([one, version]) => (/^@atrium\/|^kubectl-atrium$/.test(one) ? [`${one}@${version}`] : [])),
);
const isShipped = (component: (typeof components)[number]) =>
  bundled.has(component['bom-ref']) || own.has(component['bom-ref']) || component.name.startsWith('node-linux-');
const shipped = components.filter(isShipped);
const refs = new Set([metadata.component['bom-ref'], ...shipped.map((component) => component['bom-ref'])]);
const between = dependencies
  .filter(({ ref }) => refs.has(ref))
  .map((dependency) => ({ ...dependency, dependsOn: dependency.dependsOn.filter((ref) => refs.has(ref)) }));
// npm names the program like the folder.
const component = { ...metadata.component, name, type: 'application' };
const bill = { ...rest, metadata: { component }, components: shipped, dependencies: between };
await writeFile(join(folder, 'sbom.cdx.json'), `${JSON.stringify({ ...bill, serialNumber: serialNumberOf(bill) }, null, 2)}\n`);

/** Returns a UUID of version 8 (RFC 9562) that the contents decide. */
function serialNumberOf(contents: object): string {
  const digits = hash('sha256', JSON.stringify({ ...contents, serialNumber: undefined }));
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, `8${digits.slice(17, 20)}`, digits.slice(20, 32)];
  return `urn:uuid:${parts.join('-')}`;
}
