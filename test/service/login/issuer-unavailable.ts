import { expect } from 'chai';
import { expectStatus } from '../relying-party/conformance/relying-party.ts';
import type { Reply } from './provider/browser.ts';
import type { Service } from './support.ts';

/** 503 that says whose fault it is and when to come back, and nothing else. */
export function expectUnavailable(reply: Reply): void {
  expectStatus(reply, 503);
  const seconds = Number(reply.headers.get('retry-after'));
  expect(seconds).to.be.within(1, 10);
  expect(reply.body).to.deep.include({
    reason: 'ServiceUnavailable',
    message: 'identity provider is not available, try again',
    details: { retryAfterSeconds: seconds },
  });
}

/** The checks of a replica, a line each. */
export const readiness = async ({ metricsURL }: Service) => (await fetch(`${metricsURL}/readyz?verbose`)).text();
/** The line about an issuer that cannot be used. */
export const identityProviderFailed = /^\[-\]identity-provider failed/m;
