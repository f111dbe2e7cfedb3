import { expect } from 'chai';
import { quantityText } from '../../../web/src/pages/cluster/quantity-text.ts';
import { requestedBy } from '../../../web/src/pages/cluster/sections/pod/requests.ts';

const pod = (spec: Record<string, unknown>, phase = 'Running') => ({
  ...{ apiVersion: 'v1', kind: 'Pod', spec, status: { phase } },
  metadata: { name: 'p', resourceVersion: '1', creationTimestamp: '' },
});
const asking = (cpu: string, memory: string, more = {}) => ({ resources: { requests: { cpu, memory } }, ...more });

describe('the requests of pods in the console', () => {
  it('are summed as quantities, without pods that have ended', () => {
    const pods = [
      pod({ containers: [asking('250m', '64Mi'), asking('1', '1Gi')] }),
      pod({ containers: [{}] }),
      pod({ containers: [asking('8', '8Gi')] }, 'Succeeded'),
    ];
    expect(requestedBy(pods)).to.deep.equal({ cpu: 1.25, memory: 1088 * 1024 ** 2, pods: 2 });
  });

  it('count an init container by the most, a sidecar throughout, and the overhead', () => {
    const initContainers = [asking('2', '1Mi'), asking('1', '1Mi', { restartPolicy: 'Always' }), asking('500m', '9Mi')];
    const one = pod({ initContainers, containers: [asking('250m', '2Mi')], overhead: { cpu: '250m' } });
    expect(requestedBy([one])).to.deep.equal({ cpu: 2.25, memory: 10 * 1024 ** 2, pods: 1 });
  });

  it('are printed with the suffixes of Kubernetes', () => {
    expect([0, 0.25, 1.5, 16].map((value) => quantityText('cpu', value, 'en'))).to.deep.equal(['0', '250m', '1.5', '16']);
    expect([512, 64 * 1024 ** 2, 1.5 * 1024 ** 3].map((value) => quantityText('memory', value, 'en'))).to.deep.equal([
      '512',
      '64Mi',
      '1.5Gi',
    ]);
  });

  it('have the decimal sign of the language, and no sign between thousands', () => {
    const printed = (language: string) => [
      quantityText('cpu', 1.5, language),
      quantityText('cpu', 1200, language),
      quantityText('memory', 1.5 * 1024 ** 3, language),
      quantityText('memory', 1023.4 * 1024 ** 2, language),
    ];
    expect(printed('de')).to.deep.equal(['1,5', '1200', '1,5Gi', '1023Mi']);
    expect(printed('zh')).to.deep.equal(['1.5', '1200', '1.5Gi', '1023Mi']);
  });
});
