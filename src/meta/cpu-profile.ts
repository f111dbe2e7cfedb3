import { setTimeout as sleep } from 'node:timers/promises';
import { wholeNumber } from '@atrium/http/input.ts';
import { type Operation, operation, withTimeout } from '@atrium/http/operation.ts';
import { forbiddenPath, tooManyRequests } from '@atrium/objects/status.ts';
import { z } from 'zod';
import { auditCaller } from '../audit/audit.ts';
import type { Services } from '../services.ts';

const path = '/debug/v1/cpuprofile';
const maxSeconds = 30;
/** Microseconds between two samples: a profile of 30 s stays below a few megabytes. */
const samplingInterval = 2_000;

/** `POST /debug/v1/cpuprofile`: profiles the replica that answers. @param replica name of the replica, for the name of the file */
export function cpuProfileOperation({ access, audit }: Services, replica: string): Operation {
  let isBusy = false;
  return operation({
    id: 'CreateCpuProfile',
    method: 'POST',
    paths: [path],
    tag: 'operations',
    summary: 'Records a CPU profile of the replica that answers',
    description: `Needs \`post\` on the non-resource URL \`${path}\`. A profile has names of functions and files, and no values.`,
    credential: 'required',
    query: z.object({ seconds: wholeNumber({ max: maxSeconds }).default(10).describe('Duration of the recording.') }),
    before: [withTimeout((maxSeconds + 30) * 1000)],
    answers: {
      200: {
        description: 'The profile, which developer tools of Chromium open.',
        content: { 'application/json': z.looseObject({ nodes: z.array(z.unknown()) }).meta({ examples: [{ nodes: [], startTime: 0 }] }) },
      },
      403: { description: 'The API server says that the caller may not post to that path.' },
      429: { description: 'The replica records another profile.' },
    },
    async handle({ ctx, caller, query: { seconds }, signal }) {
      if (!(await access.canUsePath(caller, { verb: 'post', path }, signal)))
        throw forbiddenPath({ user: caller.identity.name, verb: 'post', path });
      if (isBusy) throw tooManyRequests('a CPU profile is being recorded, try again', maxSeconds);
      isBusy = true;
      try {
        const profile = await recordProfile(seconds * 1000, signal);
        audit.record({ ...auditCaller(ctx, caller), audit: 'CpuProfileTaken', outcome: 'success', code: 200 });
        ctx.attachment(`atrium-${replica}.cpuprofile`);
        ctx.type = 'application/json; charset=utf-8';
        ctx.body = JSON.stringify(profile);
      } finally {
        isBusy = false;
      }
    },
  });
}

/** Records until the time has passed. Loads the inspector only here. @throws the reason of the signal */
async function recordProfile(durationMs: number, signal: AbortSignal): Promise<unknown> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: samplingInterval });
    await session.post('Profiler.start');
    await sleep(durationMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    const { profile } = await session.post('Profiler.stop');
    return profile;
  } finally {
    session.disconnect();
  }
}
