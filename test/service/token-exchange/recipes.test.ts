/** The recipes of docs/pipelines.md, with a scripted issuer in place of GitHub, GitLab and another cluster. */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parse } from 'yaml';
import { z } from 'zod';
import { forSuite } from '../../support/for-suite.ts';
import { TestProvider } from '../login/provider/provider.ts';
import { whoIs } from '../tokens/tokens.ts';
import { nameOf } from '../users/a-user.ts';
import { aMachine, audience, exchange, send, startExchange, workloadToken } from './workloads.ts';

const page = readFileSync('docs/pipelines.md', 'utf8');
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language = '', text = '']) => ({ language, text }));
const blockWith = (language: string, text: string): string =>
  blocks.find((block) => block.language === language && block.text.includes(text))?.text ?? '';

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.looseObject({ email: z.string(), federation: z.array(z.looseObject({ issuer: z.string() })) }),
});

/** Subjects of the recipes, as the issuers name them. */
const subjects = {
  GitLab: 'project_path:acme/shop:ref_type:branch:ref:main',
  'Argo CD': 'system:serviceaccount:argocd:argocd-application-controller',
};

describe('the recipes of pipelines', () => {
  const provider = forSuite(() => TestProvider.start({ clientID: audience }));
  const server = forSuite(() =>
    startExchange(
      provider,
      Object.entries(subjects).map(([name, sub]) =>
        aMachine(name.replace(' ', '-'), [{ issuer: provider.issuer, audience, claims: { sub } }]),
      ),
    ),
  );

  it('gives GitHub Actions a token for the manifest and the form of the page', async () => {
    const user = manifest.parse(parse(blockWith('yaml', 'kind: User')));
    expect(user.metadata.name).to.equal(nameOf(user.spec.email));
    for (const entry of user.spec.federation) entry.issuer = provider.issuer;
    await server.kubernetes.apply(user);
    const fields = [...blockWith('sh', '/oauth2/token').matchAll(/--data-urlencode (\w+)=(\S+)/g)];
    const token = workloadToken(provider, { claims: { sub: 'repo:acme/shop:ref:refs/heads/main' } });
    const form = new URLSearchParams();
    for (const [, name = '', value = ''] of fields) form.set(name, value.replace('"$JOB_TOKEN"', token));
    expect([...form.keys()]).to.have.members(['grant_type', 'subject_token_type', 'subject_token', 'client_id']);
    const { status, body } = await send(server, form.toString());
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(await whoIs(server, body.access_token ?? '')).to.deep.equal({ name: `machine:${user.spec.email}`, groups: [] });
  });

  for (const [name, sub] of Object.entries(subjects))
    it(`gives ${name} a token for the subject of the page`, async () => {
      expect(page).to.include(`\`${sub}\``);
      const given = await exchange(server, workloadToken(provider, { claims: { sub } }), { client_id: name.replace(' ', '-') });
      expect(given.status, JSON.stringify(given.body)).to.equal(200);
    });

  for (const at of ['GitHub Actions', 'GitLab'])
    it(`sends the parameters of an exchange from ${at}`, () => {
      const section = page.slice(page.indexOf(`### ${at}`));
      const fields = [...section.slice(0, section.indexOf('\n### ', 4)).matchAll(/-d (\w+)=/g)].map(([, name]) => name);
      expect(fields).to.have.members(['grant_type', 'subject_token_type', 'subject_token', 'client_id']);
    });
});
