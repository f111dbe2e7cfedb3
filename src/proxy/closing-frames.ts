import type { StatusError } from '../api/status.ts';

/** Sub-protocols of exec and attach whose error channel takes a Status. */
const statusProtocols = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];
const errorChannel = 3;
const [binaryFrame, closeFrame] = [0x82, 0x88];
/** Close code of a policy violation (RFC 6455, 7.4.1). */
const policyViolation = 1008;

/** Returns the last frames of a WebSocket that the service closes: a Status if the sub-protocol has a channel for it, and Close. */
export function closingFrames({ status }: StatusError, protocol: string | undefined): Buffer {
  const closing = Buffer.from(`xx${status.code === 401 ? 'the credential is no longer valid' : 'the permission was revoked'}`);
  closing.writeUInt16BE(policyViolation);
  const channel = Buffer.concat([Buffer.of(errorChannel), Buffer.from(JSON.stringify(status))]);
  const told = protocol !== undefined && statusProtocols.includes(protocol) ? [frame(binaryFrame, channel)] : [];
  return Buffer.concat([...told, frame(closeFrame, closing)]);
}

/** Returns a frame without a mask, as servers send it. Payloads are shorter than 64 KiB. */
function frame(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header = length < 126 ? Buffer.of(first, length) : Buffer.of(first, 126, length >> 8, length & 0xff);
  return Buffer.concat([header, payload]);
}
