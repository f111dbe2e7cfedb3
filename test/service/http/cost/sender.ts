/** A thread that repeats a request, so that its own allocations and timers are not counted for the service. */
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';

interface Work {
  port: number;
  request: string;
  count: number;
}

const { port, request, count } = workerData as Work;
const connections = 8;
let sent = 0;
let answered = 0;

/** @throws Error for any other status than a success */
function isWhole(answer: Buffer): boolean {
  const end = answer.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const head = answer.toString('latin1', 0, end);
  if (!/^HTTP\/1\.1 20[01] /.test(head)) throw new Error(answer.toString());
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  return length === undefined ? answer.toString('latin1', answer.length - 5) === '0\r\n\r\n' : answer.length >= end + 4 + Number(length);
}

for (let index = 0; index < connections; index += 1) {
  const socket = connect(port, '127.0.0.1');
  let answer = Buffer.alloc(0);
  const send = () => {
    sent += 1;
    if (sent > count) socket.end();
    else socket.write(request);
  };
  socket.on('data', (chunk) => {
    answer = Buffer.concat([answer, chunk]);
    if (!isWhole(answer)) return;
    answer = Buffer.alloc(0);
    answered += 1;
    send();
    if (answered === count) parentPort?.postMessage('done');
  });
  send();
}
