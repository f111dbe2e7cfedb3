import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { parseConfig } from '../../../src/config/load.ts';

const problems = (...resources: object[]): string => {
  try {
    parseConfig({ yaml: stringify({ lists: { resources } }) });
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};

const withColumn = (jsonPath: string, name = 'x') => ({ version: 'v1', resource: 'pods', columns: [{ name, jsonPath }] });

describe('lists.resources', () => {
  it("takes no Secrets, and of the service's resources only those without sealed fields (LST-01)", () => {
    expect(problems({ version: 'v1', resource: 'secrets' })).to.contain('must not be secrets');
    for (const resource of ['sessions', 'accesstokens', 'revokedtokens', 'identityrecords'])
      expect(problems({ group: 'auth.platform.io', version: 'v1', resource }), resource).to.contain('must not be secrets');
    for (const resource of ['users', 'groups', 'userbindings'])
      expect(problems({ group: 'auth.platform.io', version: 'v1', resource }), resource).to.equal('');
    expect(problems({ group: 'example.com', version: 'v1', resource: 'secrets' })).to.equal('');
  });

  it('takes no column that leads to contents, environments or copies of the object', () => {
    for (const path of [
      '.data.password',
      "['data']",
      '{.binaryData.x}',
      '$.stringData.x',
      '.spec.containers[*].env[0].value',
      '.spec.containers[0]["env"][0].value',
      '.spec.containers[?(@.env=="x")].name',
      '.metadata.managedFields[0].manager',
      ".metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']",
      '.metadata.annotations.kubectl\\.kubernetes\\.io/last-applied-configuration',
    ])
      expect(problems(withColumn(path)), path).to.match(/must (not lead|be a JSON path)/);
  });

  it('takes only paths and names that it understands', () => {
    for (const path of ['.', '', '.a[', '.a]b', '.a[b]', '.a[?(@.b=="c)]', '.a[?(@.b=~"c")]', `.${'a'.repeat(256)}`])
      expect(problems(withColumn(path)), path).to.match(/must be a JSON path|<=256/);
    for (const path of ['..password', '.spec.*', '.spec..x', '.spec["*"].x[?(@..y)].z', ".spec['a','data']", '.a[?(@.env)].b'])
      expect(problems(withColumn(path)), path).to.contain('must not lead into');
    for (const path of ['.spec[1:2]', '.a[?(@.b>1)].c', '.a[?(@.b!="c")].d', '.a[0,1].b', '.a[-1:].b'])
      expect(problems(withColumn(path)), path).to.equal('');
    for (const name of ['name', 'owner', 'a', 'd', 'With Space', 'a,b', '__proto__', ''])
      expect(problems(withColumn('.spec.x', name)), name).not.to.equal('');
    expect(problems(withColumn('.spec.x'))).to.equal('');
  });

  it('takes each resource once, and a bound on its objects', () => {
    const pods = { version: 'v1', resource: 'pods' };

    expect(problems(pods, pods)).to.contain('must not hold a resource twice');
    expect(problems({ ...pods, maxObjects: 0 })).to.contain('maxObjects');
    expect(problems({ ...pods, version: 'one' })).to.contain('must be an API version');
  });
});

const role = z.looseObject({
  rules: z.array(z.strictObject({ apiGroups: z.array(z.string()), resources: z.array(z.string()), verbs: z.array(z.string()) })),
});

describe('lists.preset', () => {
  const listed = (lists: object) =>
    parseConfig({ yaml: stringify({ lists }) }).lists.resources.map(({ group, resource }) => `${resource}.${group}`);

  it('lists nothing unless it is set', () => {
    expect(listed({})).to.deep.equal([]);
    expect(listed({ preset: 'none', resources: [] })).to.deep.equal([]);
  });

  it('lists thirteen kinds for workloads, for which the manifest gives list and watch and nothing else', async () => {
    const text = await readFile(new URL('../../../deploy/manifests/workload-lists.yaml', import.meta.url), 'utf8');
    const { rules } = role.parse(parseAllDocuments(text)[0]?.toJS());
    const granted = rules.flatMap(({ apiGroups, resources }) => resources.map((resource) => `${resource}.${apiGroups.join()}`));

    expect(listed({ preset: 'workloads' })).to.have.length(13);
    expect(listed({ preset: 'workloads' })).to.have.members(granted);
    for (const { verbs } of rules) expect(verbs).to.deep.equal(['list', 'watch']);
  });

  it('leaves a kind to the entry that names it', () => {
    const pods = { version: 'v1', resource: 'pods', maxObjects: 7 };
    const { resources } = parseConfig({ yaml: stringify({ lists: { preset: 'workloads', resources: [pods] } }) }).lists;

    expect(resources.filter(({ resource }) => resource === 'pods').map(({ maxObjects }) => maxObjects)).to.deep.equal([7]);
    expect(resources).to.have.length(13);
  });
});
