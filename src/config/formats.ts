/**
 * Formats of settings, as regular expressions that values.schema.json of the chart repeats. Helm reads them with Go's syntax, which has no
 * lookahead.
 */
import { isIP } from 'node:net';
import { z } from 'zod';

const byte = '(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])';
const ipv4 = `${byte}(?:\\.${byte}){3}`;
/** Short, because Helm prints it. `isAddress` decides. */
const ipv6 = '[0-9a-fA-F]*:[0-9a-fA-F:.]+';
const ranges = `${ipv4}/(?:3[0-2]|[12]?[0-9])|${ipv6}/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9])`;
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const host = `${label}(?:\\.${label})*`;

const whole = (...alternatives: string[]) => new RegExp(`^(?:${alternatives.join('|')})$`);

const isAddress = (text: string): boolean => isIP(text.replace(/\/.*/, '')) !== 0;

/** Checks a pattern and the address in it with one message. */
const addressed = (message: string, ...alternatives: string[]) => {
  const pattern = whole(...alternatives);
  return z
    .string()
    .refine((text) => pattern.test(text) && isAddress(text), message)
    .meta({ pattern: pattern.source });
};

export const ipAddress = () => addressed('must be an IP address', ipv4, ipv6);

export const addressRange = () => addressed('must be a CIDR range such as 10.0.0.0/8', ranges);

export const addressOrRange = () => addressed('must be an address or a CIDR range such as 10.0.0.0/8', ipv4, ipv6, ranges);

/** RFC 1123 section 2.1. */
export const hostName = () =>
  z
    .string()
    .max(253)
    .regex(whole(`${host}\\.?`), 'must be a host name');

export const hostOrAddress = () =>
  z
    .string()
    .max(253)
    .regex(whole(host, ipv4, ipv6), 'must be a host name or an IP address');

/** Name of an object of Kubernetes. The API server checks the finer rules of a kind. */
export const objectName = () =>
  z
    .string()
    .max(253)
    .regex(/^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/, 'must be the name of an object: lower-case letters, digits, hyphens and dots');

/** Host of a URL, with a port. Browsers accept hosts beyond ASCII. */
const authority = '(?:[^\\s/?#@:\\[\\]]+|\\[[0-9a-fA-F:.]+\\])(?::[0-9]{1,5})?';

/** Patterns for the chart, beside the checks of a URL by the service. */
const patterns = {
  http: `^https?://${authority}(?:/[^\\s#]*)?(?:\\?[^\\s#]*)?$`,
  httpWithoutQuery: `^https?://${authority}(?:/[^\\s?#@]*)?$`,
  ldap: `^ldaps?://${authority}(?:/[^\\s]*)?$`,
  origin: `^https?://${authority}$`,
};

export const httpURL = () =>
  z.url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' }).meta({ pattern: patterns.http });

/** @see https://www.rfc-editor.org/rfc/rfc3986#section-3 */
export const httpURLWithoutQuery = () =>
  z
    .url({ protocol: /^https?$/, error: 'must be an absolute http or https URL without user, query and fragment' })
    .refine((text) => !/[?#@]/.test(text), 'must hold no user, query or fragment')
    .meta({ pattern: patterns.httpWithoutQuery });

export const ldapURL = () =>
  z
    .url({ protocol: /^ldaps?$/, error: 'must be an ldap or ldaps URL' })
    .refine((text) => URL.canParse(text) && new URL(text).hostname !== '', 'must name a host')
    .meta({ pattern: patterns.ldap });

export const origin = () =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && new URL(text).origin === text,
      'must be an origin such as https://console.example.com, without a path',
    )
    .meta({ pattern: patterns.origin });

/** RFC 4514. */
export const distinguishedName = () =>
  z.string().regex(/^(?:[A-Za-z][A-Za-z0-9-]*|[0-9]+(?:\.[0-9]+)*) *=.+$/, 'must be a distinguished name such as dc=example,dc=com');

/** RFC 4515, also without the outer parentheses. */
export const searchFilter = () =>
  z.string().regex(/^(?:\([^()=]+=[^()]*\)|\([&|!] *\(.+\)\)|[^()=]+=[^()]*)$/, 'must be a search filter such as (objectClass=person)');

const labelKey = () =>
  z
    .string()
    .regex(
      /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
      'must be a key such as team or example.com/team',
    );

const labelValue = () => z.string().regex(/^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/, 'must be the value of a label');

export const labels = () => z.record(labelKey(), labelValue());

export const annotations = () => z.record(labelKey(), z.string());

export const labelSelector = () =>
  z.strictObject({
    matchLabels: labels().optional(),
    matchExpressions: z
      .array(
        z.strictObject({
          key: labelKey(),
          operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
          values: z.array(labelValue()).optional(),
        }),
      )
      .optional(),
  });

export const quantity = () =>
  z.union([
    z.number().min(0),
    z
      .string()
      .regex(/^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$/, 'must be a quantity such as 100m or 160Mi'),
  ]);

/** Amounts of resources, as in a container. */
export const quantities = () => z.record(labelKey(), quantity());

/** Durations of Prometheus. */
export const prometheusDuration = () =>
  z
    .string()
    .regex(
      /^(?:0|(?:[0-9]+y)?(?:[0-9]+w)?(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?(?:[0-9]+ms)?)$/,
      'must be a duration of Prometheus such as 30s',
    );

function cronField(value: string): string {
  const item = `(?:\\*|\\?|(?:${value})(?:-(?:${value}))?)(?:/[1-9][0-9]?)?`;
  return `${item}(?:,${item})*`;
}

const months = 'JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC';
const days = 'SUN|MON|TUE|WED|THU|FRI|SAT';
const anyCase = (names: string): string => names.replaceAll(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`);
const cronFields = [
  '[0-5]?[0-9]',
  '2[0-3]|[01]?[0-9]',
  '3[01]|[12][0-9]|0?[1-9]',
  `1[0-2]|0?[1-9]|${anyCase(months)}`,
  `[0-6]|${anyCase(days)}`,
].map(cronField);

/** Schedule of a CronJob. */
export const cronSchedule = () =>
  z
    .string()
    .regex(
      whole(cronFields.join(' +'), '@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)', '@every [0-9]+(?:\\.[0-9]+)?[a-z0-9.]+'),
      'must be a schedule of cron such as */5 * * * *',
    );

/** Host of an Ingress or HTTPRoute. */
export const routedHost = () =>
  z
    .string()
    .max(253)
    .regex(whole(`(?:\\*\\.)?${host}`), 'must be a host name such as console.example.com');

/** Key of a Secret or ConfigMap. */
export const dataKey = () => z.string().regex(/^[-._a-zA-Z0-9]{1,253}$/, 'must be a key: letters, digits, hyphens, dots and underscores');

/** E-mail address in ASCII, or none. */
export const optionalEmailAddress = () =>
  z.string().regex(/^(?:|[A-Za-z0-9.!#$%&'*+=?^_{|}~-]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,252})$/, 'must be an e-mail address');
