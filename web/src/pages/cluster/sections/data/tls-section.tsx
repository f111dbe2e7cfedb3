import { useLoad } from '../../../../api/load';
import type { ClusterObject } from '../../../../api/objects';
import { dateTime, relative, t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { Loaded } from '../../../../ui/loaded';
import { Notice } from '../../../../ui/state';
import type { TlsCertificate } from '../certificates/tls-certificate';
import type { SectionProps } from '../section';
import { secretText } from './data-entries';
import { TextLines } from './text-lines';

const soonMs = 14 * 24 * 3_600_000;

const certificateIn = ({ data }: ClusterObject): unknown => (data as Record<string, unknown> | undefined)?.['tls.crt'];

/** A Secret with a certificate, of any type. */
export const hasCertificate = (object: ClusterObject): boolean => object.kind === 'Secret' && typeof certificateIn(object) === 'string';

/** Shows the certificate of a Secret. The key beside it is not read. */
export function CertificateSection({ object }: SectionProps) {
  const reader = useLoad('sections/certificate', () => import('../certificates/tls-certificate'));
  return (
    <Loaded load={reader}>
      {({ tlsCertificate }) => {
        const certificate = tlsCertificate(secretText(String(certificateIn(object))) ?? '');
        return certificate ? <Certificate of={certificate} /> : <Notice>{t('tls.broken')}</Notice>;
      }}
    </Loaded>
  );
}

function Certificate({ of: { subject, issuer, alternativeNames, begins, ends, chainLength } }: { of: TlsCertificate }) {
  return (
    <>
      <Validity begins={begins.getTime()} ends={ends.getTime()} />
      <Facts
        of={[
          [t('signing.subject'), subject.length > 0 && <TextLines key="subject" texts={subject} />],
          [t('signing.names'), alternativeNames.length > 0 && <TextLines key="names" texts={alternativeNames} />],
          [t('tls.issuer'), <TextLines key="issuer" texts={issuer} />],
          [t('tls.begins'), dateTime(begins.getTime())],
          [t('tls.ends'), dateTime(ends.getTime())],
          [t('tls.chain'), t('tls.certificates', { count: chainLength })],
        ]}
      />
    </>
  );
}

function Validity({ begins, ends }: { begins: number; ends: number }) {
  const now = Date.now();
  if (ends <= now) return <Notice>{t('tls.ended', { time: relative(ends) })}</Notice>;
  if (begins > now) return <Notice kind="warn">{t('tls.notBegun', { time: relative(begins) })}</Notice>;
  return <Notice kind={ends - now < soonMs ? 'warn' : 'info'}>{t('tls.endsIn', { time: relative(ends) })}</Notice>;
}
