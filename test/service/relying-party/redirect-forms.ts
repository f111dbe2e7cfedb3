/** Hostile forms of an address that a careless check takes for the service's own; the same in every run. */

const evil = 'evil.example';

const schemes = [
  '',
  'http:',
  'https:',
  'HTTPS:',
  'ftp:',
  'ws:',
  'javascript:',
  'data:',
  'vbscript:',
  'JavaScript:',
  'file:',
  'blob:https:',
];
const slashes = [
  '//',
  '\\\\',
  '/\\',
  '\\/',
  '///',
  '////',
  '/',
  '\\',
  '/%2f',
  '%2f%2f',
  '%5c%5c',
  '/%5c',
  '/%09/',
  '/\t/',
  '/ /',
  '/./',
  '/../',
  '/;/',
  '//;@',
];
const authorities = (own: string): string[] => [
  evil,
  `${own}@${evil}`,
  `${own}.${evil}`,
  `${evil}#${own}`,
  `${evil}?${own}`,
  `${evil}/${own}`,
  `${evil}\\${own}`,
  `${own}\\@${evil}`,
  `${own}:80@${evil}`,
  `${evil}:443`,
  `${own}%2e${evil}`,
  `${own}%00.${evil}`,
  `${own}%0d%0aLocation:%20//${evil}`,
  'evil。example',
  'evil．example',
  'evil%E3%80%82example',
  'еvil.example',
  '2130706433',
  '0x7f000001',
  '[::ffff:127.0.0.1]',
  '169.254.169.254',
];

const singles = (own: string): string[] => [
  `http://${own}.${evil}/`,
  `http://evil${own}/`,
  `http://${own}@${evil}/`,
  `http://${own}:3838/`,
  `http://${own}/../admin`,
  `http://${own}/console/../admin`,
  `http://${own}//${evil}`,
  `http://${own}/%2e%2e/`,
  `http://${own}/\\${evil}`,
  `http://${own}/#${evil}`,
  `http://${own}/?next=//${evil}`,
  `http://${own}`,
  `https://${own}/`,
  `HTTP://${own}/`,
  `http://${own.toUpperCase()}/`,
  `http://${own}./`,
  `http:/${own}/`,
  `http:${own}/`,
  `http://user:password@${own}/`,
  ` http://${own}/`,
  `http://${own}/ `,
  `http://${own}/\0`,
  `\u0000//${evil}`,
  `\t//${evil}`,
  `\n//${evil}`,
  `\r\n//${evil}`,
  `\u2028//${evil}`,
  `\u00a0//${evil}`,
  `\ufeff//${evil}`,
  `/\r\nSet-Cookie: x=1`,
  `/%0d%0aSet-Cookie:x=1`,
  `/\tpath`,
  '/\u2028',
  '/\u0085',
  `/a?next=//${evil}`,
  `/a#//${evil}`,
  `/a/..//${evil}`,
  `/%0a/${evil}`,
  'javascript:alert(1)',
  'jAvAsCrIpT:alert(1)//http://',
  'java\tscript:alert(1)',
  'java\nscript:alert(1)',
  'javascript://%0aalert(1)',
  'data:text/html,<script>alert(1)</script>',
  'data:text/html;base64,PHNjcmlwdD4=',
  'vbscript:msgbox(1)',
  'VBScript:msgbox(1)',
  'about:blank',
  'mailto:a@evil.example',
  '.',
  '..',
  '../',
  '*',
  'null',
  'undefined',
  '@evil.example',
  ':80',
  '?//evil.example',
  '#//evil.example',
  `/${'a'.repeat(2049)}`,
  `//${evil}/${'a'.repeat(4096)}`,
];

/**
 * @param own host of the service
 * @returns more than five hundred distinct forms
 */
export function hostileForms(own: string): string[] {
  const crossed = schemes.flatMap((scheme, row) =>
    slashes.flatMap((slash, column) => {
      const all = authorities(own);
      // Each scheme is combined with every slash and most authorities: the whole product would show little more.
      return [0, 10].map((step) => `${scheme}${slash}${all[(row * 5 + column * 3 + step) % all.length]}`);
    }),
  );
  const plain = authorities(own).flatMap((authority) => ['//', 'https://', '/\\', '\\\\'].map((start) => `${start}${authority}/`));
  return [...new Set([...singles(own), ...plain, ...crossed])];
}

/** Forms whose scheme is neither http nor https. */
export const scriptForms = [
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  'data:text/html,x',
  'DATA:text/html,x',
  'vbscript:x',
  'VbScript:x',
  '//',
  '\\\\',
  '//evil.example',
  '\\\\evil.example',
  '/\\evil.example',
];
