import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { useLoad } from '../../api/load';
import { loadTexts } from '../../text/text';

/** Time in view after which the chart is loaded. Figures that come late move its place away. */
const dwellMs = 1000;

/** Loads the usage of the cluster once the end of the overview stays in view, so that the page itself opens fast. */
export function ClusterUsagePlace() {
  const place = useRef<HTMLDivElement>(null);
  const isSeen = useSignal(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver(([entry]) => {
      clearTimeout(timer);
      if (entry?.isIntersecting) timer = setTimeout(() => (isSeen.value = true), dwellMs);
    });
    if (place.current) observer.observe(place.current);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, []);
  const load = useLoad(
    isSeen.value ? 'part/cluster-usage' : undefined,
    async () => (await Promise.all([import('../cluster/sections/usage-history/cluster-usage'), loadTexts('usage')]))[0],
  );
  return (
    <div ref={place} data-once-in-view>
      {load.data.value && <load.data.value.ClusterUsage />}
    </div>
  );
}
