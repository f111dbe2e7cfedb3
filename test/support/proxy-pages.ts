import { expect } from 'chai';
import { type FaultProxy, type ProxiedRequest, page } from '../cluster/faults/fault-proxy.ts';

const codes = [200, 301, 401, 403, 502, 404];

/** A sequence of requests to the service, and the facts that hold whatever a proxy answers in place of the API server. */
export interface Journey<T> {
  /** Called before each run, without faults. */
  prepare(): Promise<T>;
  /** @returns statuses or words for the answers of the service */
  run(given: T): Promise<unknown>;
  /** Calls that are passed over, because controllers make them after the answer or beside it. Default: none. */
  passedOver?: RegExp;
  /** Result of a run without faults. */
  expected: unknown;
  /** Checks the cluster after a run in which a call was answered by a page. Default: nothing. */
  check?(given: T, result: unknown): Promise<unknown>;
  /** Runs again without faults, at once. @returns the result. Default: `run` */
  again?(given: T): Promise<unknown>;
}

/** Names a call by its method and resource, with `*` for the names of objects. Undefined for watches, Leases and Events. */
function callOf({ method, path, isWatch }: ProxiedRequest): string | undefined {
  const rest = path.replace(/^\/(?:api|apis\/[^/]+)\/[^/]+\//, '').replace(/^namespaces\/[^/]+\/(?=.)/, '');
  const [resource = '', name, ...subresource] = rest.split('/');
  if (isWatch || resource === 'leases' || resource === 'events') return undefined;
  return [method, [resource, ...(name === undefined ? [] : ['*']), ...subresource].join('/')].join(' ');
}

/**
 * Runs a journey once for its calls to the API server, and then once for each call and page in its place. Outages have statuses of 502 and
 * more; 500 is a fault of the service.
 *
 * @returns the calls that were replaced
 */
export async function replaceEachCall<T>(
  faults: FaultProxy,
  { prepare, run, expected, check, again = run, passedOver }: Journey<T>,
): Promise<string[]> {
  const first = await prepare();
  faults.forgetRequests();
  expect(await run(first), 'without a fault').to.deep.equal(expected);
  const made = new Set(faults.requests.map(callOf));
  const calls = [...made].filter((call) => call !== undefined).filter((call) => passedOver?.test(call) !== true);
  for (const call of calls) {
    for (const code of codes) {
      const given = await prepare();
      faults.inject(page(code), (request) => callOf(request) === call);
      const result = await run(given).finally(() => faults.mend());
      const what = `${call} answered by a page of ${code}`;
      if (JSON.stringify(result) !== JSON.stringify(expected)) expect(result, what).to.be.oneOf([502, 503, 504]);
      await check?.(given, result);
      expect(await again(given), `after ${what}`).to.deep.equal(expected);
    }
  }
  return calls;
}
