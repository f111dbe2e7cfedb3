/** Plugins of a test, which are installed in the demo as objects of its cluster. */
import { hash } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import type { Demo } from './demo.ts';

export const configMaps = 'api/v1/namespaces/atrium-system/configmaps';
export const consolePlugins = 'apis/console.platform.io/v1/consoleplugins';

export const sha = (text: string): string => `sha256-${hash('sha256', text, 'base64')}`;

interface MadePlugin {
  name: string;
  code: string;
  manifest?: Record<string, unknown>;
  /** Manifest that the ConsolePlugin pins, if it differs. */
  pinned?: string;
  isEnabled?: boolean;
}

/** Returns functions that install plugins in a demo that may not have started yet. */
export function pluginsOf(demo: Pick<Demo, 'url' | 'person'>) {
  async function kubernetes(method: string, path: string, body?: unknown): Promise<Response> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const answer = await fetch(`${demo.url}/api/kubernetes/${path}`, {
      method,
      headers: { authorization: `Bearer ${demo.person('admin').token}`, 'content-type': type },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.status, `${method} ${path}`).to.be.lessThan(300);
    return answer;
  }

  async function make({ name, code, manifest = {}, pinned, isEnabled = true }: MadePlugin): Promise<void> {
    const integrity = { 'entry.js': sha(code) };
    const text = JSON.stringify({ name, version: '1.0.0', contract: 1, entry: 'entry.js', integrity, ...manifest });
    const labels = { 'console.platform.io/plugin': name, 'console.platform.io/public': 'true' };
    await kubernetes('POST', configMaps, {
      metadata: { name: `${name}-console`, labels },
      data: { 'plugin-manifest.json': text, 'entry.js': code },
    });
    if (isEnabled)
      await kubernetes('POST', consolePlugins, {
        apiVersion: 'console.platform.io/v1',
        kind: 'ConsolePlugin',
        metadata: { name },
        spec: { displayName: name, integrity: pinned ?? sha(text) },
      });
  }

  const listed = async () =>
    ((await (await fetch(`${demo.url}/api/v1/console-plugins`)).json()) as { plugins: { name: string }[] }).plugins;

  /** Waits until the service lists a plugin, which it learns by its watch. */
  async function isListed(name: string): Promise<void> {
    await eventually(listed, (plugins) => plugins.some((one) => one.name === name));
  }

  return { kubernetes, make, listed, isListed };
}
