import type { ApiCall } from '@atrium/kubernetes/transport.ts';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { failureOf, forever } from '../../../packages/kubernetes/test/fake-api-server.ts';
import { AdmissionPolicies } from '../../../src/access-requests/admission-policies.ts';
import type { Services } from '../../../src/services.ts';

/** Returns an object that is the policy and its binding at once. */
const inForce = (name: string) => ({
  metadata: { name, uid: name, resourceVersion: '1', creationTimestamp: '2030-01-01T00:00:00Z' },
  spec: { policyName: name, validations: [{}], validationActions: ['Deny'] },
});

describe('the check of the admission policies', () => {
  it('continues for other callers when the first one disconnects', async () => {
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let calls = 0;
    const request = async ({ path, signal }: ApiCall) => {
      calls += 1;
      const { promise: gone, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      await Promise.race([answered, gone]);
      return inForce(path.split('/').at(-1) ?? '');
    };
    const admission = new AdmissionPolicies({ client: { request }, clock: () => 0 } as unknown as Services, {
      of: { group: 'auth.platform.io', resource: 'accesspolicies' },
      policies: ['accesspolicies', 'accessrequests', 'userbindings'],
    });
    const leaving = new AbortController();
    const first = failureOf(admission.require(leaving.signal));
    const second = admission.require(forever());
    leaving.abort(new Error('gone'));
    expect(await first).to.equal(leaving.signal.reason);
    answer();
    await second;
    expect(calls).to.equal(6);
  });
});
