/** Example policies that administrators copy. */
import { globSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { policiesPath } from './support.ts';

const files = globSync('examples/access-policies/*.yaml').sort();

interface Policy {
  metadata: { name: string };
  status?: { conditions?: { type: string; status: string }[] };
}

describe('the policies of the examples', () => {
  const server = forSuite(() => startServer({ config: { features: { accessRequests: true } } }));

  it('are three', () => {
    expect(files.map((file) => file.replace(/.*\//, ''))).to.deep.equal(['break-glass.yaml', 'change-window.yaml', 'on-call.yaml']);
  });

  for (const file of files)
    it(`have no unknown field, and are ready: ${file}`, async () => {
      const policy: Policy = parse(readFileSync(file, 'utf8'));
      const created = await server.kubernetes.call('POST', `${policiesPath}?fieldValidation=Strict`, policy);
      expect(created.status, JSON.stringify(created.body)).to.equal(201);
      const ready = await eventually(
        async () => (await server.kubernetes.call('GET', `${policiesPath}/${policy.metadata.name}`)).body as Policy,
        ({ status }) => status?.conditions?.some(({ type }) => type === 'Ready') === true,
      );
      expect(ready.status?.conditions?.map(({ status }) => status)).to.deep.equal(['True', 'True', 'True']);
    });
});
