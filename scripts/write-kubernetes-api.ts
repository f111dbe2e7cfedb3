/**
 * Writes the schemas (OpenAPI v3) of the built-in kinds for the embedded cluster, as kube-apiserver of the tests serves them, and their
 * protobuf messages and types, from the Go modules that it is built of.
 *
 * Run after a new release of Kubernetes in `test/cluster/go.mod`: npm run kubernetes-api
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import protobuf from 'protobufjs';
import { goTypeOf } from '../packages/embedded-cluster/src/kubernetes-api.ts';
import { connect } from '../test/service/conformance/api-client.ts';
import { apiServer } from '../test/support/api-server.ts';

/** API groups of the embedded cluster, each with the folder of its Go package and its version. */
const groups: Readonly<Record<string, string>> = {
  'api/v1': 'core/v1',
  'apis/admissionregistration.k8s.io/v1': 'admissionregistration/v1',
  'apis/apiextensions.k8s.io/v1': '',
  'apis/apps/v1': 'apps/v1',
  'apis/authentication.k8s.io/v1': 'authentication/v1',
  'apis/authorization.k8s.io/v1': 'authorization/v1',
  'apis/autoscaling/v1': 'autoscaling/v1',
  'apis/autoscaling/v2': 'autoscaling/v2',
  'apis/batch/v1': 'batch/v1',
  'apis/certificates.k8s.io/v1': 'certificates/v1',
  'apis/coordination.k8s.io/v1': 'coordination/v1',
  'apis/discovery.k8s.io/v1': 'discovery/v1',
  'apis/networking.k8s.io/v1': 'networking/v1',
  'apis/policy/v1': 'policy/v1',
  'apis/rbac.authorization.k8s.io/v1': 'rbac/v1',
  'apis/scheduling.k8s.io/v1': 'scheduling/v1',
  'apis/storage.k8s.io/v1': 'storage/v1',
};
const machinery = ['apis/meta/v1', 'runtime', 'api/resource', 'util/intstr'].map((name) => `pkg/${name}`);

const folderOf = (module: string) =>
  execFileSync('go', ['list', '-m', '-f', '{{.Dir}}', module], { cwd: 'test/cluster', encoding: 'utf8' }).trim();
const [api, apimachinery] = ['api', 'apimachinery'].map((name) => folderOf(`k8s.io/${name}`)) as [string, string];

type Schema = Readonly<Record<string, unknown>>;

/** Returns all schemas that an API server serves for the groups. */
async function servedSchemas(): Promise<Record<string, Schema>> {
  const server = await apiServer();
  const admin = await connect(server, 'admin');
  const all: Record<string, Schema> = {};
  for (const path of Object.keys(groups)) {
    const { body } = await admin.get(`/openapi/v3/${path}`);
    Object.assign(all, (body as { components: { schemas: Record<string, Schema> } }).components.schemas);
  }
  await admin.close();
  await server.stop();
  return all;
}

/** Returns the schemas of kinds and of all that they refer to. The schemas of their lists add nothing. */
function schemasOfKinds(all: Record<string, Schema>): Record<string, Schema> {
  const isKind = ([name, schema]: [string, Schema]) =>
    'x-kubernetes-group-version-kind' in schema && !/(List|WatchEvent|APIGroup|APIResourceList)$/.test(name);
  const kept = new Map<string, Schema>();
  const keep = (name: string): void => {
    const schema = all[name];
    if (schema === undefined || kept.has(name)) return;
    kept.set(name, schema);
    for (const [, reference = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) keep(reference);
  };
  for (const [name] of Object.entries(all).filter(isKind)) keep(name);
  return Object.fromEntries([...kept].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const packages = [
  ...Object.values(groups)
    .filter(Boolean)
    .map((folder) => ({ name: `k8s.io.api.${folder.replace('/', '.')}`, folder: join(api, folder) })),
  ...machinery.map((folder) => ({ name: `k8s.io.apimachinery.${folder.replaceAll('/', '.')}`, folder: join(apimachinery, folder) })),
];

/** Returns members that are pointers in Go, as `Message.member`: a zero or an empty text in them was set, in others it was omitted. */
function pointers(): Set<string> {
  const isPointer = /^\t\w+\s+\*[\w.]+\s+`json:"(\w+)/gm;
  return new Set(
    packages.flatMap(({ name, folder }) =>
      [...sources(folder).matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)].flatMap(([, kind, body = '']) =>
        [...body.matchAll(isPointer)].map(([, member]) => `${name}.${kind}.${member}`),
      ),
    ),
  );
}

const sources = (folder: string) =>
  readdirSync(folder)
    .filter((file) => /^(?!zz_).*(?<!_test)\.go$/.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');

interface Field {
  name: string;
  /** A scalar, or the full name of a message. */
  type: string;
  repeats?: 'list' | 'map';
  /** The members of the message stand in the message around it. */
  isInline?: true;
  isPointer?: true;
}

/** Fields by number, by the full name of their message. */
function messages(known: Record<string, Schema>): Record<string, Record<string, Field>> {
  const root = new protobuf.Root();
  for (const { folder } of packages) protobuf.parse(readFileSync(join(folder, 'generated.proto'), 'utf8'), root, { keepCase: true });
  root.resolveAll();
  const [set, all] = [pointers(), {} as Record<string, Record<string, Field>>];
  const visit = (one: protobuf.ReflectionObject): void => {
    if (one instanceof protobuf.Namespace) one.nestedArray.forEach(visit);
    if (!(one instanceof protobuf.Type)) return;
    const name = one.fullName.slice(1);
    const { properties = {} } = (known[name.replace('k8s.io', 'io.k8s')] ?? {}) as { properties?: Schema };
    const jsonNames = new Map(Object.keys(properties).map((member) => [member.toLowerCase(), member]));
    const fieldOf = (field: protobuf.Field): Field => ({
      name: jsonNames.get(field.name.toLowerCase()) ?? field.name,
      type: field.resolvedType?.fullName.slice(1) ?? field.type,
      ...(field instanceof protobuf.MapField && { repeats: 'map' }),
      ...(field.repeated && { repeats: 'list' }),
      ...(field.resolvedType && jsonNames.size > 0 && !jsonNames.has(field.name.toLowerCase()) && { isInline: true }),
      ...(set.has(`${name}.${field.name}`) && { isPointer: true }),
    });
    all[name] = Object.fromEntries(one.fieldsArray.map((field) => [field.id, fieldOf(field)]));
  };
  visit(root);
  return all;
}

const definitions = join(folderOf('k8s.io/apiextensions-apiserver'), 'pkg/apis/apiextensions/v1');
const goFolders = new Map([
  ...packages.map(({ name, folder }) => [name.replace('k8s.io', 'io.k8s'), folder] as const),
  ['io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1', definitions],
]);

/** Members of a struct: name of the member, or of the struct that is embedded, and type as the source writes it. */
const structMember = /^\t(?:(?<name>\w+)[ \t]+)?(?<type>[*\w.[\]]+)[ \t]+`json:"(?<member>\w*)(?<inline>,inline)?/gm;

/** Writes a type of a source file as Go prints it. */
const printedType = (type: string, folder: string) =>
  type
    .replace(/^\*/, '')
    .replaceAll(/(?<![\w.])([A-Z]\w*)/g, `${folder.split('/').at(-1)}.$1`)
    .replaceAll('metav1.', 'v1.')
    .replaceAll('byte', 'uint8');

/** Returns types of Go that the schemas do not tell, and structs that are embedded in others. A refusal names both. */
function goNames(known: Record<string, Schema>): Record<'goTypes' | 'embedded', Record<string, Record<string, string>>> {
  const [goTypes, embedded]: [Record<string, Record<string, string>>, Record<string, Record<string, string>>] = [{}, {}];
  for (const [path, folder] of goFolders) {
    const structs = new Map(
      [...sources(folder).matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)].map(([, kind = '', body = '']) => [kind, body]),
    );
    const membersOf = (kind: string) => [...(structs.get(kind) ?? '').matchAll(structMember)].map(({ groups = {} }) => groups);
    const visit = (schemaName: string, kind: string, steps: readonly string[]): void => {
      const { properties = {} } = (known[schemaName] ?? {}) as { properties?: Record<string, Schema> };
      for (const { type = '', member = '', inline } of membersOf(kind)) {
        if (inline !== undefined) visit(schemaName, type, [...steps, type]);
        const [schema, printed] = [properties[member], printedType(type, folder)];
        if (schema === undefined) continue;
        if (steps.length > 0) embedded[schemaName] = { ...embedded[schemaName], [member]: steps.join('.') };
        if (goTypeOf(schema) !== printed) goTypes[schemaName] = { ...goTypes[schemaName], [member]: printed };
      }
    };
    for (const kind of structs.keys()) if (known[`${path}.${kind}`] !== undefined) visit(`${path}.${kind}`, kind, []);
  }
  return { goTypes, embedded };
}

const known = schemasOfKinds(await servedSchemas());
const text = JSON.stringify({ schemas: known, messages: messages(known), ...goNames(known) });
const packed = brotliCompressSync(text, {
  params: { [constants.BROTLI_PARAM_SIZE_HINT]: text.length, [constants.BROTLI_PARAM_LGWIN]: 22 },
});
writeFileSync(new URL('../packages/embedded-cluster/src/kubernetes-api.json.br', import.meta.url), packed);
console.log(`${Math.round(text.length / 1000)} KB, ${Math.round(packed.length / 1000)} KB packed`);
