import type { IncomingHttpHeaders } from 'node:http';

/** Trace of the caller, as its headers describe it (W3C Trace Context). */
export interface TraceParent {
  readonly traceID: string;
  readonly spanID: string;
  readonly isSampled: boolean;
  /** Vendor data of the caller, or ''. */
  readonly state: string;
}

/** Version, trace, span and flags; a later version may have more after them (section 3.2.2). */
const traceparentSyntax = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]{0,256})?$/;
const noTrace = '0'.repeat(32);
const noSpan = '0'.repeat(16);

/** Bounds of tracestate (section 3.3.1). */
const maxStateLength = 512;
const maxMembers = 32;
const member = /^(?:[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256})?$/;

/** Returns the caller's trace. Undefined without a valid `traceparent`; `tracestate` then has no meaning (section 3.3.1). */
export function readTraceParent({ traceparent, tracestate }: IncomingHttpHeaders): TraceParent | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceID = noTrace, spanID = noSpan, flags = '', more] = traceparentSyntax.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || traceID === noTrace || spanID === noSpan) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceID, spanID, isSampled: (Number.parseInt(flags, 16) & 1) === 1, state: validState([tracestate ?? ''].flat().join(',')) };
}

function validState(text: string): string {
  if (text.length > maxStateLength) return '';
  const members = text.split(',').map((one) => one.trim());
  return members.length <= maxMembers && members.every((one) => member.test(one)) ? members.filter((one) => one !== '').join(',') : '';
}

/** Returns the headers that continue a trace. */
export const traceHeaders = ({ traceID, spanID, isSampled, state }: TraceParent): Record<string, string> => ({
  traceparent: `00-${traceID}-${spanID}-${isSampled ? '01' : '00'}`,
  ...(state !== '' && { tracestate: state }),
});
