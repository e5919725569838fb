/** What was asked, of what, by what, how far it has come, and all files of it. */
import type { Health, MetricTable, StudyInfo } from "../../api/client";
import { useHealth, useMetricTable, useStudy } from "../../api/queries";
import { Loaded, Page } from "../../components";
import { plural } from "../../format";
import { Contents, Methods, Models } from "./contents";
import { Downloads } from "./downloads";
import { Metrics } from "./metrics";
import { Plan } from "./plan";
import { ProgressPanel } from "./progress";
import { Provenance, StudyFile } from "./provenance";
import "./study.css";

function leadOf(study: StudyInfo): string {
  const parts = [
    plural(study.images, "image"),
    plural(study.models.length, "model"),
    plural(study.methods.length, "method"),
    `scored at ${study.resolution}`,
  ];
  return `${study.name}: ${parts.join(" · ")}`;
}

function Sections({ study, health, metrics }: { study: StudyInfo; health?: Health; metrics?: MetricTable }) {
  return (
    <>
      <div className="study-top">
        <ProgressPanel />
        <Contents study={study} missing={health?.missing ?? {}} />
      </div>
      <Downloads names={study.downloads} />
      <Plan study={study} />
      <div className="study-top">
        <Models study={study} />
        <Methods study={study} />
      </div>
      {metrics && <Metrics table={metrics} />}
      <div className="study-top">
        <Provenance study={study} version={health?.version ?? ""} />
        <StudyFile study={study} />
      </div>
    </>
  );
}

export default function StudyPage() {
  const study = useStudy();
  const health = useHealth().data;
  const metrics = useMetricTable().data;
  return (
    <Page title="Study" lead={study.data && leadOf(study.data)}>
      <Loaded of={study}>{(data) => <Sections study={data} health={health} metrics={metrics} />}</Loaded>
    </Page>
  );
}
