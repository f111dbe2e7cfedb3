import { z } from 'zod';

export const kubeconfigQuery = z.object({
  mode: z
    .enum(['exec', 'oidc-login', 'token'], {
      error: 'must be exec, oidc-login or token; POST /auth/v1/authorize returns a file with a client certificate',
    })
    .default('exec')
    .describe(
      '`exec`: kubectl gets its tokens from the program kubectl-atrium. `oidc-login`: from kubelogin. `token`: the bearer token of this very request.',
    ),
  via: z
    .enum(['cluster', 'console'], { error: 'must be cluster or console' })
    .optional()
    .describe(
      'Server in the file: `cluster` is the API server, `console` is `/api/kubernetes` of this service. Default: the API server if it accepts the token, else the console.',
    ),
  namespace: z
    .string()
    .regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'must be a DNS label')
    .optional()
    .describe('Of the context in the file.'),
  issuer: z
    .string()
    .optional()
    .describe('Id of the issuer to log in at, except with `mode=token`. Default: that of the caller’s own login, or else the first.'),
});

export type KubeconfigQuery = z.output<typeof kubeconfigQuery>;
