"""What trains beside the people: learner, planner of questions, worker, files of models."""
