import { z } from 'zod';

export const kubeconfigQuery = z.object({
  mode: z
    .enum(['exec', 'token'], {
      error: 'must be exec or token; a file with a client certificate is part of what POST /auth/v1/authorize answers',
    })
    .default('exec')
    .describe('`exec`: kubectl asks the program kubectl-atrium for tokens. `token`: the bearer token of this very request.'),
  namespace: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label')
    .optional()
    .describe('Of the context in the file.'),
  issuer: z
    .string()
    .optional()
    .describe('Id of the issuer to log in at, with `mode=exec`. Default: that of the caller’s own login, or else the first.'),
});

export type KubeconfigQuery = z.output<typeof kubeconfigQuery>;
