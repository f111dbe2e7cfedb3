import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CompiledSchema, compileSchema } from '@atrium/embedded-cluster/schema.ts';
import { expect } from 'chai';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { accessTokens, records, revokedTokens, sessions } from './manifest-samples/credentials.ts';
import { plugins } from './manifest-samples/plugins.ts';
import type { Sample } from './manifest-samples/sample.ts';
import { bindings, groups } from './manifest-samples/teams.ts';
import { users } from './manifest-samples/users.ts';

const samples: Record<string, Sample[]> = {
  User: users,
  UserBinding: bindings,
  Group: groups,
  AccessToken: accessTokens,
  Session: sessions,
  RevokedToken: revokedTokens,
  IdentityRecord: records,
  ConsolePlugin: plugins,
};

const manifests = join(import.meta.dirname, '../../../deploy/manifests');

const definitionSchema = z.looseObject({
  metadata: z.object({ name: z.string() }),
  spec: z.looseObject({
    group: z.string(),
    names: z.looseObject({
      kind: z.string(),
      plural: z.string(),
      categories: z.array(z.string()).optional(),
      shortNames: z.array(z.string()).optional(),
    }),
    versions: z.tuple([z.looseObject({ name: z.string(), schema: z.object({ openAPIV3Schema: z.looseObject({}) }) })]),
  }),
});

const files = readdirSync(join(manifests, 'crds')).filter((name) => name.endsWith('.io.yaml'));
const definitions = files.map((file) => ({
  file,
  definition: definitionSchema.parse(parse(readFileSync(join(manifests, 'crds', file), 'utf8'))),
}));
const schemas = new Map(
  definitions.map(({ definition: { spec } }) => [spec.names.kind, compileSchema(spec.versions[0].schema.openAPIV3Schema)]),
);

function schemaOf(kind: string): CompiledSchema {
  const schema = schemas.get(kind);
  if (!schema) throw new Error(`no manifest for ${kind}`);
  return schema;
}

/** Validates like an API server: removes unknown fields, sets defaults, then checks the schema. */
function judge(kind: string, { object, old }: Sample): string[] {
  const schema = schemaOf(kind);
  const [now, before] = [object, old].map((one) => {
    if (!one) return undefined;
    const stored = { apiVersion: 'v1', kind, ...structuredClone(one) };
    schema.prune(stored);
    schema.applyDefaults(stored);
    return stored;
  });
  return schema.validate(now ?? {}, before).map(({ field, message }) => `${field}: ${message}`);
}

describe('deploy/manifests', () => {
  it('names each file after the one custom resource in it', () => {
    expect(definitions.map(({ file }) => file)).to.have.members(definitions.map(({ definition }) => `${definition.metadata.name}.yaml`));
    for (const { definition } of definitions) {
      expect(definition.metadata.name).to.equal(`${definition.spec.names.plural}.${definition.spec.group}`);
      expect(definition.spec.versions[0].name).to.equal('v1');
    }
  });

  it('has short names and a category for the kinds that users read, and none for those of the service alone', () => {
    const names = Object.fromEntries(
      definitions.map(({ definition: { spec } }) => [spec.names.plural, [spec.names.shortNames?.join(), spec.names.categories?.join()]]),
    );

    expect(names).to.deep.equal({
      users: ['usr', 'platform-auth'],
      groups: ['grp', 'platform-auth'],
      userbindings: ['ub', 'platform-auth'],
      accesspolicies: ['ap', 'platform-auth'],
      accessrequests: ['areq', 'platform-auth'],
      accesstokens: ['at', 'platform-auth'],
      bindingreviews: ['brev', 'platform-auth'],
      changeproposals: [undefined, 'platform-auth'],
      consoleplugins: ['cp', 'platform-auth'],
      sessions: [undefined, 'platform-auth'],
      revokedtokens: [undefined, undefined],
      identityrecords: [undefined, undefined],
      factors: [undefined, 'platform-auth'],
    });
  });

  it('describes every field, for kubectl explain', () => {
    for (const { file, definition } of definitions) {
      expect(undescribed(definition.spec.versions[0].schema.openAPIV3Schema, file)).to.deep.equal([]);
    }
  });

  for (const kind of schemas.keys()) {
    describe(kind, () => {
      for (const sample of samples[kind] ?? []) it(sample.it, () => expect(judge(kind, sample)).to.have.members(sample.causes));
    });
  }

  it('drops and names a password in a User', () => {
    const object = { metadata: { name: 'ada' }, spec: { email: 'ada', password: 'x', ids: [{ type: 'a', id: 'b', secret: 'c' }] } };

    expect(schemaOf('User').prune(object)).to.deep.equal(['spec.ids[0].secret', 'spec.password']);
    expect(object.spec).to.deep.equal({ email: 'ada', ids: [{ type: 'a', id: 'b' }] });
  });

  it('keeps values of a third party in extra', () => {
    const object = { spec: { extra: { team: { size: 3 } } } };

    expect(schemaOf('User').prune(object)).to.deep.equal([]);
    expect(object).to.deep.equal({ spec: { extra: { team: { size: 3 } } } });
  });

  it('fills in the defaults of a User', () => {
    const object = { spec: { email: 'ada', state: null, mail: null } };
    schemaOf('User').applyDefaults(object);

    const source = { connector_type: '', connector_id: '', connector_name: '' };
    expect(object).to.deep.equal({ spec: { ...source, email: 'ada', is_admin: false, is_disabled: false, state: 'active', valid: true } });
  });

  it('grants nothing to all users, and impersonation in a file of its own only', () => {
    for (const file of [
      'rbac.yaml',
      'certificates.yaml',
      'access-requests.yaml',
      'access-tokens.yaml',
      'user-bindings.yaml',
      'workload-lists.yaml',
      'roles.yaml',
      'impersonation.yaml',
    ]) {
      const documents = parseAllDocuments(readFileSync(join(manifests, file), 'utf8')).map((document): unknown => document.toJS());
      const text = JSON.stringify(documents);
      expect(text, file).not.to.match(/system:authenticated|system:unauthenticated|"\*"/);
      expect(text.includes('"impersonate"'), file).to.equal(file === 'impersonation.yaml');
    }
  });
});

const describable = z.looseObject({
  description: z.string().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.looseObject({ properties: z.unknown().optional() }).optional(),
});

function undescribed(schema: unknown, path: string): string[] {
  const { description, properties = {}, items } = describable.parse(schema);
  const isOurs = !path.endsWith('.metadata');
  return [
    ...(description || !isOurs ? [] : [path]),
    ...Object.entries(properties).flatMap(([key, child]) => undescribed(child, `${path}.${key}`)),
    ...(items?.properties ? undescribed(items, `${path}[]`) : []),
  ];
}
