import { describe, it } from 'mocha';
import { forSuite } from '../../support/for-suite.ts';
import { startServer } from '../../support/server.ts';
import { aBinding, aGroup, applyKnown, Bindings } from './support.ts';

/** docs/issuers.md */
describe('groups of UserBindings where there are several issuers', () => {
  const prefixed = (id: string) => ({ id, issuer: `https://${id}.example`, claims: { usernamePrefix: `${id}:`, groupsPrefix: `${id}:` } });
  const login = { issuers: [prefixed('corp'), prefixed('partners')] };
  const server = forSuite(() => startServer({ config: { server: { publicURL: 'https://console.example' }, login } }));

  it('are of the first issuer by the bare name of a Group, and of another by the whole name alone', async () => {
    const bindings = new Bindings(server.kubernetes);
    // The author of a Group writes its origin, which moves no binding to another issuer.
    await applyKnown(server, aGroup('ops', [], { refConnector: { id: 'partners', type: 'oidc' } }));
    const subjects = ['ops', 'partners:ops', 'night'].map((name) => ({ kind: 'Group', name }));
    await server.kubernetes.apply(aBinding('several', { subjects }));
    await bindings.untilBound('several', ['Group corp:ops', 'Group night', 'Group partners:ops']);
  });
});
