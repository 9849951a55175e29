import { Component, type ComponentChildren, type JSX } from "preact";

import { Button } from "./button.tsx";
import { Failure } from "./failure.tsx";

export interface BoundaryProps {
  /** What is shown in it: "the history". */
  readonly name: string;
  /** Another one is tried by itself: what could not be shown was of the one before. */
  readonly of?: unknown;
  readonly children: ComponentChildren;
}

interface BoundaryState {
  /** In an object of its own: anything can be thrown. */
  readonly failed: { readonly error: unknown } | undefined;
}

/** A part of the page that can fail to be shown: it then says so, and all around it goes on. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { failed: undefined };

  static override getDerivedStateFromError(error: unknown): BoundaryState {
    return { failed: { error } };
  }

  override componentDidCatch(error: unknown): void {
    // With its stack, for whoever looks why.
    console.error(error);
  }

  override componentDidUpdate({ of }: BoundaryProps): void {
    if (of !== this.props.of && this.state.failed !== undefined) this.#again();
  }

  override render(): JSX.Element {
    const { failed } = this.state;
    // In a component: what throws right below a boundary is its own exception to Preact, which looks for one above.
    return failed === undefined ? <Within>{this.props.children}</Within> : this.#failure(failed.error);
  }

  #failure(error: unknown): JSX.Element {
    return (
      <div class="stack boundary">
        <Failure error={error} what={`Could not show ${this.props.name}`} />
        <div class="row">
          <Button onClick={() => this.#again()}>Show again</Button>
        </div>
      </div>
    );
  }

  #again(): void {
    this.setState({ failed: undefined });
  }
}

function Within({ children }: { children: ComponentChildren }): JSX.Element {
  return <>{children}</>;
}
