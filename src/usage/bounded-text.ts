import { serviceUnavailable } from '@atrium/objects/status.ts';

/** Reads a body up to a bound. @throws StatusError 503 for a longer one */
export async function boundedText(body: AsyncIterable<Buffer> & { destroy(): unknown }, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      body.destroy();
      throw serviceUnavailable('kubernetes', { cause: new Error(`the answer has more than ${maxBytes} bytes`) });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
