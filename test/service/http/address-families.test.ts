import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Listener } from '@atrium/http/listener.ts';
import { expect } from 'chai';
import { type BareService, startBareService } from '../../../packages/http/test/bare-service.ts';
import { operations } from '../../../packages/http/test/frame-operations.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { eventually } from '../../support/cluster-admin.ts';

const { host } = parseConfig({ yaml: '' }).server;
/** 127.0.0.1, and ::1 where the machine has IPv6. */
const ofMachine = Object.values(networkInterfaces()).flatMap((all = []) => all.map(({ address }) => address));
const loopback = ['127.0.0.1', '::1'].filter((address) => ofMachine.includes(address));

describe('E3 the default address to listen on', () => {
  let service: BareService;
  before(async () => {
    service = await startBareService(operations, { host, trustedProxies: ['127.0.0.1'] });
  });
  after(() => service.stop());

  const sourceOf = async (address: string, headers: Record<string, string> = {}) => {
    const id = crypto.randomUUID();
    const url = `http://${address.includes(':') ? `[${address}]` : address}:${service.port}/api/tagged`;
    expect((await fetch(url, { headers: { 'x-request-id': id, ...headers } })).status).to.equal(200);
    const line = await eventually(
      () => service.logLines.find((text) => text.includes(id)),
      (found) => found !== undefined,
    );
    return JSON.parse(line ?? '{}').source;
  };

  it('answers at each loopback address of the machine, and logs the address of the client in its own form', async () => {
    expect(loopback).to.include('127.0.0.1');
    for (const address of loopback) expect(await sourceOf(address)).to.equal(address);
  });

  it('believes X-Forwarded-For of a trusted proxy that is named by its IPv4 address', async () => {
    expect(await sourceOf('127.0.0.1', { 'x-forwarded-for': '203.0.113.8' })).to.equal('203.0.113.8');
  });

  it('counts waiting requests of each IPv4 address separately', async () => {
    const begun: ServerResponse[] = [];
    const hold: RequestListener = (_request, response) => void begun.push(response);
    const listener = new Listener(hold, { host, port: 0, requestTimeoutMs: 60_000 });
    const port = await listener.start();
    const open = async (localAddress: string): Promise<Socket> => {
      const socket = connect({ port, host: '127.0.0.1', localAddress }).resume();
      const before = begun.length;
      socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_500));
      await eventually(
        () => begun.length,
        (length) => length > before,
      );
      return socket;
    };
    const other = await open('127.0.0.2');
    const crowd: Socket[] = [];
    // Beyond 10,000 waiting requests of a network its oldest connection is cut.
    while (![other, ...crowd].some(({ closed }) => closed)) crowd.push(await open('127.0.0.1'));
    const wasOtherCut = other.closed;
    await listener.stop(0);

    expect(wasOtherCut).to.equal(false);
  });
});
