import { expect } from 'chai';
import { describe, it } from 'mocha';
import { stringify } from 'yaml';
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
  it('takes no Secrets, and of our own resources only those without anything sealed (LST-01)', () => {
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
    for (const path of ['..password', '.spec.*', '.spec[1:2]', '.a[?(@.b>1)]', '.', '', '.a[', '.a]b'])
      expect(problems(withColumn(path)), path).to.contain('must be a JSON path');
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
