import { MIMEType } from 'node:util';
import { contentType } from 'mime-types';

const bytes = 'application/octet-stream';

/** Types that console pages use and that browsers do not run when opened directly. */
const inert = [
  /^text\/(css|javascript|plain|vtt)$/,
  /^application\/(json|javascript|wasm|([\w.-]+\+)?json|vnd\.ms-fontobject)$/,
  /^image\/(apng|avif|bmp|gif|jpeg|png|webp|x-icon|vnd\.microsoft\.icon)$/,
  /^(audio|font|video)\/[\w.+-]+$/,
];

/** Types that browsers display and may run. */
const documents = /^(text\/html|application\/pdf|[\w.-]+\/([\w.-]+\+)?xml)$/;

/** Policy under which an opened document runs and loads nothing. */
const documentPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

const locked = { 'Content-Security-Policy': documentPolicy, 'X-Frame-Options': 'DENY' };

/**
 * Returns the headers for a file: its type, by the file name or else as given, and a policy under which an opened page runs nothing.
 * A type that is neither harmless nor a document is offered as a download.
 */
export function typeHeaders(path: string, given: string): Record<string, string> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const byName = name.includes('.') && contentType(name.slice(name.lastIndexOf('.')));
  const essence = essenceOf(byName || given);
  const type = { 'Content-Type': contentType(essence) || bytes };
  if (inert.some((pattern) => pattern.test(essence))) return type;
  return documents.test(essence) ? { ...type, ...locked } : { ...type, ...locked, 'Content-Disposition': 'attachment' };
}

/** Removes parameters, in which browsers may find another type. The parts of a `multipart` carry types of their own. */
function essenceOf(type: string): string {
  try {
    const parsed = new MIMEType(type);
    return parsed.type === 'multipart' ? bytes : parsed.essence;
  } catch {
    return bytes;
  }
}
