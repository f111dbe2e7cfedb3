import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';

const main = fileURLToPath(new URL('../../../src/atrium.js', import.meta.url));

/** Numbers of the system call `socket` (linux/arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h). */
const socketCall = process.arch === 'arm64' ? 198 : 41;
const familyIPv6 = 10;
const familyNotSupported = 97;

/** Returns a seccomp filter in classic BPF (linux/filter.h, linux/seccomp.h) that answers `socket(AF_INET6, …)` with EAFNOSUPPORT. */
function withoutIPv6(): Buffer {
  const [load, jumpIfEqual, answer] = [0x20, 0x15, 0x06];
  const [errno, allow] = [0x0005_0000, 0x7fff_0000];
  const program: [code: number, ifTrue: number, ifFalse: number, value: number][] = [
    [load, 0, 0, 0],
    [jumpIfEqual, 0, 3, socketCall],
    [load, 0, 0, 16],
    [jumpIfEqual, 0, 1, familyIPv6],
    [answer, 0, 0, errno | familyNotSupported],
    [answer, 0, 0, allow],
  ];
  return Buffer.concat(
    program.map(([code, ifTrue, ifFalse, value]) => {
      const instruction = Buffer.alloc(8);
      instruction.writeUInt16LE(code, 0);
      instruction.writeUInt8(ifTrue, 2);
      instruction.writeUInt8(ifFalse, 3);
      instruction.writeUInt32LE(value, 4);
      return instruction;
    }),
  );
}

describe('E3 the service on a machine without IPv6', () => {
  it('listens on all IPv4 addresses by default', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-no-ipv6-'));
    const filter = join(directory, 'filter');
    await writeFile(filter, withoutIPv6());
    const port = await freePort();
    const address = { ATRIUM_SERVER__PUBLICURL: `http://127.0.0.1:${port}` };
    const environment = { PATH: process.env.PATH ?? '', ATRIUM_SERVER__PORT: String(port), ATRIUM_SERVER__METRICSPORT: '0', ...address };
    const [confine, ...options] = ['bwrap', '--die-with-parent', '--dev-bind', '/', '/', '--seccomp', '3'] as const;
    const service = spawn(confine, [...options, process.execPath, main, 'serve'], {
      env: { ...environment, KUBECONFIG: await unreachable(directory) },
      stdio: ['ignore', 'pipe', 'pipe', openSync(filter, 'r')],
    });
    let output = '';
    for (const stream of [service.stdout, service.stderr]) stream?.on('data', (chunk) => (output += chunk));
    await eventually(
      () => output,
      (text) => text.includes('"listening"') || service.exitCode !== null,
    );

    expect(service.exitCode, output).to.equal(null);
    expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).to.equal(200);
    await expectRefused(`http://[::1]:${port}/livez`);
    service.kill('SIGTERM');
    await once(service, 'close');
    await rm(directory, { recursive: true });
  });
});

async function expectRefused(url: string): Promise<void> {
  const error = await fetch(url).catch((reason: unknown) => reason);
  expect(error).to.be.an('error');
}

/** Writes a kubeconfig of a cluster that nothing answers for. The service starts without one. */
async function unreachable(directory: string): Promise<string> {
  const file = join(directory, 'kubeconfig');
  const cluster = { name: 'none', cluster: { server: 'https://127.0.0.1:1' } };
  const contexts = [{ name: 'none', context: { cluster: 'none', user: 'none' } }];
  const users = [{ name: 'none', user: { token: 'none' } }];
  const text = { apiVersion: 'v1', kind: 'Config', clusters: [cluster], contexts, users, 'current-context': 'none' };
  await writeFile(file, JSON.stringify(text), { mode: 0o600 });
  return file;
}
