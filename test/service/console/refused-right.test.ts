import { expect } from 'chai';
import { refusedRight } from '../../../web/src/app/refused-right.ts';

describe('the missing right of a refusal in the console', () => {
  const right = (message: string, status = 403) => refusedRight({ status, message });
  const jane = 'is forbidden: User "jane@example.com" cannot';

  it('is read from the message, with name, subresource and namespace', () => {
    expect(right(`pods "web-0" ${jane} create resource "pods/exec" in API group "" in the namespace "shop": no role`)).to.deep.equal({
      ...{ verb: 'create', group: '', resource: 'pods', subresource: 'exec', name: 'web-0', namespace: 'shop' },
    });
    expect(right(`deployments.apps ${jane} list resource "deployments" in API group "apps" at the cluster scope`)).to.deep.equal({
      ...{ verb: 'list', group: 'apps', resource: 'deployments' },
    });
  });

  it('is unknown for other failures and other wordings', () => {
    const message = `pods ${jane} list resource "pods" in API group "" at the cluster scope`;
    expect(right(message, 500)).to.equal(undefined);
    for (const other of ['', 'Forbidden', 'pods is forbidden: exceeded quota', `sent: ${message}`])
      expect(right(other), other).to.equal(undefined);
  });
});
