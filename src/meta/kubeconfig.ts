/** Kubeconfig files, with which users work on the cluster from a terminal. */
import { z } from 'zod';
import { type Operation, operation } from '../http/operation.ts';
import { kubeconfigText } from '../kubernetes/kubeconfig-text.ts';
import { atriumPlugin } from './credential-plugins.ts';
import { type KubeconfigFacts, kubeconfigFor, kubeconfigQuery } from './kubeconfig-service.ts';

const example = kubeconfigText({
  server: 'https://api.example.com:6443',
  certificateAuthority: '-----BEGIN CERTIFICATE-----\n…',
  user: 'jane@example.com',
  credential: {
    plugin: atriumPlugin({
      issuer: 'https://console.example.com/identity',
      clientID: 'kubectl',
      scopes: ['openid', 'email', 'groups'],
      consoleURL: 'https://console.example.com',
    }),
  },
  namespace: 'shop',
});

const kubeconfigFile = z.string().meta({ examples: [example] });

/** The feature: its operation. */
export function createKubeconfig(facts: KubeconfigFacts): { operations: Operation[] } {
  const getKubeconfig = operation({
    id: 'GetKubeconfig',
    method: 'GET',
    paths: ['/auth/v1/kubeconfig'],
    tag: 'users',
    summary: 'Returns a kubeconfig that logs in by a program and contains no secret, or that contains the token of this request',
    credential: 'required',
    query: kubeconfigQuery,
    answers: {
      200: {
        description: 'A kubeconfig, v1.',
        content: { 'application/yaml': kubeconfigFile },
        headers: { 'Content-Disposition': 'attachment; filename="kubeconfig.yaml"' },
      },
      400: {
        description: 'The server in the file would refuse the credential, the request has no token, or the issuer does not exist.',
      },
    },
    async handle({ ctx, caller, query }) {
      const text = await kubeconfigFor(facts, query, caller);
      ctx.set('Content-Disposition', 'attachment; filename="kubeconfig.yaml"');
      ctx.type = 'application/yaml; charset=utf-8';
      ctx.body = text;
    },
  });
  return { operations: facts.config.features.kubeconfig ? [getKubeconfig] : [] };
}
