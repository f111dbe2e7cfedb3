import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { endpointsOf } from '../../../web/src/pages/cluster/sections/network/endpoints.ts';
import { backendsOf, filterText, matchText } from '../../../web/src/pages/cluster/sections/network/gateway-route.ts';
import { policySentences } from '../../../web/src/pages/cluster/sections/network/network-policy.ts';

const english = JSON.parse(readFileSync(new URL('../../../web/src/text/en.json', import.meta.url), 'utf8')) as Record<string, string>;
const speech = {
  say: (key: string, values: Readonly<Record<string, string>> = {}) =>
    (english[`policy.${key}`] ?? `missing: ${key}`).replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => values[name] ?? ''),
  or: (texts: readonly string[]) => texts.join(' or '),
};
const object = (members: object) => ({
  ...{ apiVersion: 'v1', kind: 'Any', metadata: { name: 'one', namespace: 'shop', resourceVersion: '1', creationTimestamp: '' } },
  ...members,
});
const sentences = (spec: object) => policySentences(object({ spec }), speech);
const web = { podSelector: { matchLabels: { app: 'web' } } };

describe('a NetworkPolicy in the console', () => {
  it('is a sentence for each rule, with its peers and ports', () => {
    const from = [
      { podSelector: { matchLabels: { role: 'front' } } },
      {
        podSelector: { matchLabels: { role: 'probe' } },
        namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['a', 'b'] }] },
      },
      { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16'] } },
    ];
    const ports = [{ protocol: 'TCP', port: 80 }, { port: 8000, endPort: 9000 }, { protocol: 'UDP' }];
    expect(sentences({ ...web, policyTypes: ['Ingress'], ingress: [{ from, ports }] })).to.deep.equal({
      pods: 'pods with app=web',
      ingress: [
        'Pods with app=web accept traffic from pods with role=front in this namespace or pods with role=probe in namespaces with team in (a,b) ' +
          'or addresses in 10.0.0.0/8 except 10.1.0.0/16 on TCP port 80 or TCP ports 8000 to 9000 or any UDP port.',
      ],
      egress: ['This policy does not restrict outgoing traffic.'],
    });
  });

  it('distinguishes no rule from a rule without bounds', () => {
    const all = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] };
    expect(sentences(all)).to.deep.include({
      ingress: ['All pods of this namespace accept no traffic.'],
      egress: ['All pods of this namespace may send no traffic.'],
    });
    expect(sentences({ ...all, ingress: [{}], egress: [{ to: [], ports: [] }] })).to.deep.include({
      ingress: ['All pods of this namespace accept traffic from anywhere on any port.'],
      egress: ['All pods of this namespace may send traffic to anywhere on any port.'],
    });
  });

  it('distinguishes a missing selector of a peer from an empty one', () => {
    const peers = [
      { podSelector: {} },
      { namespaceSelector: {} },
      { namespaceSelector: { matchLabels: { team: 'a' } } },
      { podSelector: { matchLabels: { a: 'b' } }, namespaceSelector: {} },
    ];
    const [sentence] = sentences({ ...web, ingress: [{ from: peers }] }).ingress;
    expect(sentence).to.equal(
      'Pods with app=web accept traffic from all pods of this namespace or all pods of all namespaces or all pods of namespaces with team=a ' +
        'or pods with a=b in all namespaces on any port.',
    );
  });

  it('restricts outgoing traffic without types only if it has such rules', () => {
    expect(sentences({ ...web }).egress).to.deep.equal(['This policy does not restrict outgoing traffic.']);
    expect(sentences({ ...web, egress: [{}] }).egress).to.deep.equal(['Pods with app=web may send traffic to anywhere on any port.']);
  });

  it('never reads an unknown peer or operator as all pods', () => {
    const from = [{ future: {} }, { podSelector: { matchExpressions: [{ key: 'a', operator: 'Future' }] } }];
    expect(sentences({ ...web, ingress: [{ from }] }).ingress.join()).to.match(
      /from a peer that this page does not know or a peer that .* on any port/,
    );
    expect(sentences({ podSelector: { matchExpressions: [{ key: 'a', operator: 'Future' }] } }).pods).to.equal(
      'pods of a selector that this page cannot read',
    );
  });
});

describe('endpoints in the console', () => {
  const pod = (name: string) => ({ targetRef: { kind: 'Pod', name, namespace: 'shop', uid: name } });
  const slice = (...endpoints: object[]) => object({ endpoints });

  it('are those of both address families once, broken ones first', () => {
    const slices = [
      slice(
        { addresses: ['10.0.0.1'], conditions: { ready: true }, ...pod('a') },
        { addresses: ['10.0.0.2'], conditions: { ready: false }, ...pod('b') },
      ),
      slice({ addresses: ['fd00::1'], conditions: { ready: true }, ...pod('a') }),
    ];
    expect(endpointsOf(slices).map(({ addresses, state }) => [addresses.join(), state])).to.deep.equal([
      ['10.0.0.2', 'NotReady'],
      ['10.0.0.1,fd00::1', 'Ready'],
    ]);
  });

  it('distinguish draining from removed ones, and count an unknown condition as ready', () => {
    const states = [{}, { ready: false, serving: true, terminating: true }, { ready: false, serving: false, terminating: true }].map(
      (conditions) => endpointsOf([slice({ addresses: ['10.0.0.1'], conditions })])[0]?.state,
    );
    expect(states).to.deep.equal(['Ready', 'Draining', 'Terminating']);
    expect(endpointsOf([object({ endpoints: null })])).to.deep.equal([]);
  });
});

describe('the rules of an HTTPRoute in the console', () => {
  it('are matches and filters as text', () => {
    const headers = [{ name: 'version', value: '2' }];
    expect(
      [{}, { path: { value: '/cart' }, method: 'GET', headers }, { path: { type: 'Exact', value: '/a' } }].map(matchText),
    ).to.deep.equal(['/*', 'GET /cart/* version=2', '= /a']);
    expect(filterText({ type: 'RequestRedirect', requestRedirect: { scheme: 'https', statusCode: 301 } })).to.equal(
      'RequestRedirect 301 https://',
    );
  });

  it('share requests by weight, and give none to a target of weight 0', () => {
    const shares = (...weights: (number | undefined)[]) =>
      backendsOf({ backendRefs: weights.map((weight) => ({ name: 'a', ...(weight !== undefined && { weight }) })) }).map(
        ({ share }) => share,
      );
    expect([shares(undefined, 3), shares(0, 1), shares(0)]).to.deep.equal([[0.25, 0.75], [0, 1], [0]]);
  });
});
