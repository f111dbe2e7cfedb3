import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { z } from 'zod';
import { type ControlPlane, startControlPlane } from '../../cluster/control-plane.ts';
import { TestProvider } from '../../service/login/provider/provider.ts';
import { ClusterAdmin, eventually } from '../../support/cluster-admin.ts';

const page = readFileSync(new URL('../../../docs/groups.md', import.meta.url), 'utf8');
const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text = '']): unknown => parse(text));
const rule = z.object({ expression: z.string(), message: z.string() });
const shown = z
  .tuple([
    z.object({ userValidationRules: z.array(rule) }),
    z.object({ claimMappings: z.object({ groups: z.object({ expression: z.string() }) }) }),
  ])
  .parse(blocks.slice(0, 2));

const reviewed = z.object({ status: z.object({ userInfo: z.object({ groups: z.array(z.string()) }) }) });

/** Settings of docs/groups.md for API servers that accept the tokens of an issuer. */
describe('names of local groups at an API server that trusts issuers', () => {
  let plane: ControlPlane;
  const providers: TestProvider[] = [];
  before(async () => {
    for (let count = 0; count < 2; count += 1) providers.push(await TestProvider.start({ tls: true }));
    const [foreign, embedded] = providers.map(({ issuer, clientID, certificateAuthority = '' }) => ({
      url: issuer,
      audiences: [clientID] as const,
      certificateAuthority,
    }));
    if (!foreign || !embedded) throw new Error('no providers');
    plane = await startControlPlane({
      people: ['admin'],
      issuers: [
        { ...foreign, userValidationRules: shown[0].userValidationRules },
        { ...embedded, groupsExpression: shown[1].claimMappings.groups.expression },
      ],
    });
  });
  after(async () => {
    await plane?.stop();
    for (const provider of providers) await provider.stop();
  });

  /** Returns the groups of a token's caller, or undefined if the token is refused. */
  async function groupsOf(provider: TestProvider | undefined, groups: unknown): Promise<readonly string[] | undefined> {
    const token = provider?.idToken({ claims: { email: 'jane@example.com', email_verified: true, groups } }) ?? '';
    const caller = new ClusterAdmin({ url: plane.url, certificateAuthority: plane.certificateAuthority }, token);
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { status, body } = await caller.call('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', review);
    await caller.close();
    if (status === 401) return undefined;
    const { userInfo } = reviewed.parse(body).status;
    return userInfo.groups.filter((group) => group !== 'system:authenticated');
  }

  it('AUZ-06 are refused from an external issuer', async () => {
    const [foreign] = providers;
    await eventually(
      () => groupsOf(foreign, ['dev']),
      (groups) => groups !== undefined,
    );

    expect(await groupsOf(foreign, ['dev'])).to.deep.equal(['dev']);
    expect(await groupsOf(foreign, ['dev', 'local:dev'])).to.equal(undefined);
  });

  it('stay unchanged if the groups of the embedded issuer get a prefix', async () => {
    const [, embedded] = providers;
    await eventually(
      () => groupsOf(embedded, ['dev']),
      (groups) => groups !== undefined,
    );

    expect(await groupsOf(embedded, ['dev', 'local:night'])).to.deep.equal(['oidc:dev', 'local:night']);
    expect(await groupsOf(embedded, undefined)).to.deep.equal([]);
  });
});
