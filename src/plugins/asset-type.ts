import { MIMEType } from 'node:util';
import { contentType } from 'mime-types';

const bytes = 'application/octet-stream';

/** What pages of the console use, and no browser runs when it is opened by itself. */
const inert = [
  /^text\/(css|javascript|plain|vtt)$/,
  /^application\/(json|javascript|wasm|([\w.-]+\+)?json|vnd\.ms-fontobject)$/,
  /^image\/(apng|avif|bmp|gif|jpeg|png|webp|x-icon|vnd\.microsoft\.icon)$/,
  /^(audio|font|video)\/[\w.+-]+$/,
];

/** What browsers show, and might run. */
const documents = /^(text\/html|application\/pdf|[\w.-]+\/([\w.-]+\+)?xml)$/;

/** What is opened as a page can run and load nothing. */
const documentPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const locked = { 'Content-Security-Policy': documentPolicy, 'X-Frame-Options': 'DENY' };

/**
 * The headers that tell browsers what a file is, by its name or else by the type that came with it, and what it may do when it is opened
 * as a page: nothing. What is neither known to be harmless nor a document is for saving.
 */
export function typeHeaders(path: string, given: string): Record<string, string> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const byName = name.includes('.') && contentType(name.slice(name.lastIndexOf('.')));
  const essence = essenceOf(byName || given);
  const type = { 'Content-Type': contentType(essence) || bytes };
  if (inert.some((pattern) => pattern.test(essence))) return type;
  return documents.test(essence) ? { ...type, ...locked } : { ...type, ...locked, 'Content-Disposition': 'attachment' };
}

/** Without parameters, in which browsers may find another type; parts of a `multipart` bring their own. */
function essenceOf(type: string): string {
  try {
    const parsed = new MIMEType(type);
    return parsed.type === 'multipart' ? bytes : parsed.essence;
  } catch {
    return bytes;
  }
}
