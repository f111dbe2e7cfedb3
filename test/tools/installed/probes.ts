import { setTimeout } from 'node:timers/promises';
import type { V1Container, V1Probe } from '@kubernetes/client-node';
import { Agent, request } from 'undici';

export interface ProbeEvents {
  onStarted(): void;
  onReady(isReady: boolean): void;
  /** Called when the container must be restarted, because its startup or liveness probe reached the failure threshold. */
  onDead(why: string): void;
}

/**
 * Runs the probes of one container until `signal` aborts. The other probes wait for the startup probe. A container without a readiness
 * probe is ready when it has started.
 *
 * @see https://kubernetes.io/docs/concepts/configuration/liveness-readiness-startup-probes/
 */
export async function runProbes(container: V1Container, address: string, events: ProbeEvents, signal: AbortSignal): Promise<void> {
  const { startupProbe, livenessProbe, readinessProbe } = container;
  const repeat = (probe: V1Probe, onChange: (isGood: boolean) => boolean) => repeatProbe(probe, { container, address, onChange, signal });
  if (startupProbe) {
    const hasStarted = await repeat(startupProbe, () => true);
    if (hasStarted === undefined) return;
    if (!hasStarted) return events.onDead('startup probe failed');
  }
  events.onStarted();
  if (!readinessProbe) events.onReady(true);
  await Promise.all([
    readinessProbe &&
      repeat(readinessProbe, (isGood) => {
        events.onReady(isGood);
        return false;
      }),
    livenessProbe &&
      repeat(livenessProbe, (isGood) => !isGood).then((isGood) => isGood === false && events.onDead('liveness probe failed')),
  ]);
}

interface Repetition {
  container: V1Container;
  address: string;
  /** Called when a threshold of equal results is reached and the verdict is new. Ends the repetition by returning true. */
  onChange(isGood: boolean): boolean;
  signal: AbortSignal;
}

/** Repeats a probe. @returns the last verdict, or undefined if `signal` ended it */
async function repeatProbe(probe: V1Probe, { container, address, onChange, signal }: Repetition): Promise<boolean | undefined> {
  const { initialDelaySeconds = 0, periodSeconds = 10, successThreshold = 1, failureThreshold = 3 } = probe;
  await pause(initialDelaySeconds, signal);
  let verdict: boolean | undefined;
  let last: boolean | undefined;
  let count = 0;
  while (!signal.aborted) {
    const isGood = await succeeds(probe, { container, address });
    if (signal.aborted) break;
    count = isGood === last ? count + 1 : 1;
    last = isGood;
    if (isGood !== verdict && count >= (isGood ? successThreshold : failureThreshold)) {
      verdict = isGood;
      if (onChange(isGood)) return isGood;
    }
    await pause(periodSeconds, signal);
  }
  return undefined;
}

const trusting = new Agent({ connect: { rejectUnauthorized: false }, pipelining: 0 });

/** Sends a probe as a kubelet does: without verifying certificates, and with each status from 200 to 399 as success. */
async function succeeds({ httpGet, timeoutSeconds = 1 }: V1Probe, { container, address }: Pick<Repetition, 'container' | 'address'>) {
  if (!httpGet) throw new Error('this kubelet has only probes by httpGet');
  const named = container.ports?.find(({ name }) => name === httpGet.port);
  const scheme = (httpGet.scheme ?? 'HTTP').toLowerCase();
  const url = `${scheme}://${httpGet.host ?? address}:${named?.containerPort ?? httpGet.port}${httpGet.path ?? '/'}`;
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: trusting,
      headers: {
        'user-agent': 'kube-probe/1.36',
        ...Object.fromEntries((httpGet.httpHeaders ?? []).map(({ name, value }) => [name, value])),
      },
      signal: AbortSignal.timeout(timeoutSeconds * 1000),
    });
    await body.dump();
    return statusCode >= 200 && statusCode < 400;
  } catch {
    return false;
  }
}

const pause = (seconds: number, signal: AbortSignal) => setTimeout(seconds * 1000, undefined, { signal }).catch(() => undefined);
