import type { CallerClient } from '@atrium/kubernetes/kubernetes-client.ts';
import type { ServiceClient } from '@atrium/kubernetes/own-account.ts';
import type { CallerResource, ServiceResource } from '@atrium/kubernetes/resource-client.ts';
import { expect } from 'chai';

type IsAssignable<From, To> = [From] extends [To] ? true : false;

// The file does not compile if either type can be assigned to the other.
const callerAsService: IsAssignable<CallerClient, ServiceClient> = false;
const serviceAsCaller: IsAssignable<ServiceClient, CallerClient> = false;
const callerResourceAsService: IsAssignable<CallerResource, ServiceResource> = false;
const serviceResourceAsCaller: IsAssignable<ServiceResource, CallerResource> = false;
/** The assertions would hold for anything if the types were `any`. */
const callerAsItself: IsAssignable<CallerClient, CallerClient> = true;
const callerAsAnything: IsAssignable<CallerClient, { noSuchMember: never }> = false;

describe('the clients of caller and service', () => {
  it('are two types, neither of which passes for the other', () => {
    expect([callerAsService, serviceAsCaller, callerAsItself, callerAsAnything]).to.deep.equal([false, false, true, false]);
  });

  it('stay so for the objects of a resource', () => {
    expect([callerResourceAsService, serviceResourceAsCaller]).to.deep.equal([false, false]);
  });
});
