/** Output and answers of the demo, and the programs that run its printed commands. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';

export const infoFile = z.object({
  url: z.string(),
  issuer: z.string(),
  kubeconfig: z.string(),
  people: z.array(
    z.object({
      email: z.string(),
      role: z.enum(['admin', 'manager', 'viewer', 'nobody']),
      password: z.string().min(12),
      token: z.string(),
    }),
  ),
  images: z.array(z.object({ name: z.string(), key: z.string() })),
  accessToken: z.string(),
  directory: z.object({ url: z.string(), caFile: z.string(), password: z.string() }),
});
const condition = z.looseObject({ type: z.string(), status: z.string() });
export const objects = z.looseObject({
  items: z.array(z.looseObject({ status: z.looseObject({ conditions: z.array(condition).optional(), phase: z.string().optional() }) })),
});

export const accessRequests = z.object({
  items: z.array(
    z.object({
      metadata: z.looseObject({ creationTimestamp: z.string() }),
      spec: z.looseObject({ requester: z.string(), roleRef: z.string(), reason: z.string().optional() }),
      status: z.looseObject({
        phase: z.string(),
        begin: z.string().optional(),
        until: z.string().optional(),
        ended: z.string().optional(),
      }),
    }),
  ),
});

export const loginInfo = z.looseObject({ auth_url: z.string() });
export const userInfo = z.looseObject({
  name: z.string(),
  ext: z.looseObject({
    token_storage: z.string(),
    token: z.looseObject({ access_token: z.string().optional(), id_token: z.string().optional() }),
  }),
});

const has = (program: string) => {
  const isHere = (process.env.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, program)));
  if (!isHere) console.log(`test/service/cli: ${program} is not on this machine, its lines are shown by HTTP elsewhere`);
  return isHere;
};
export const hasKubectl = has('kubectl');
export const hasCurl = has('curl');
export const run = promisify(execFile);
export const kubectl = async (info: z.infer<typeof infoFile>, ...args: string[]) =>
  (await run('kubectl', ['--kubeconfig', info.kubeconfig, ...args])).stdout;
